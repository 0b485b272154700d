//! The names of a runtime's models, and the choice of the model for a turn.

use std::{fmt, sync::Arc};

use madang_actors::{
    llm::{Models, NamedModel},
    port::ChatModel,
    protocol::{ModelName, SessionId, UserId},
};

use crate::error::{BuildError, Error};

/// The name of the model that was given without one, if there are others.
const DEFAULT: &str = "default";

/// The models of a builder.
#[derive(Debug, Default)]
pub(crate) struct ModelList {
    /// The model that was given without a name.
    pub(crate) first: Option<Arc<dyn ChatModel>>,
    pub(crate) named: Vec<(Arc<str>, Arc<dyn ChatModel>)>,
}

impl ModelList {
    /// Returns all models with their names, in the order in which they replace each other. A single
    /// model needs no name.
    pub(crate) fn named(self) -> Result<Vec<NamedModel>, BuildError> {
        let Self { first, named } = self;
        let mut models = Vec::with_capacity(named.len() + 1);
        if let Some(model) = first {
            if named.is_empty() {
                return Ok(vec![model.into()]);
            }
            models.push((DEFAULT.into(), model));
        }
        models.extend(named);
        let mut all = Vec::<NamedModel>::with_capacity(models.len());
        for (name, model) in models {
            let wrong = |cause| BuildError::ModelName { name: name.clone(), cause };
            let name = ModelName::new(name.clone()).map_err(wrong)?;
            if all.iter().any(|other| other.name.as_ref() == Some(&name)) {
                return Err(BuildError::SameModelName { name });
            }
            all.push(NamedModel { name: Some(name), model });
        }
        Ok(all)
    }
}

/// Chooses the model of turns that choose none.
#[derive(Clone, Default)]
pub(crate) struct ModelChoice {
    pub(crate) of_session: Option<Arc<OfSession>>,
}

pub(crate) type OfSession = dyn Fn(&UserId, &SessionId) -> Option<Arc<str>> + Send + Sync;

impl ModelChoice {
    /// Returns the name of the model that the turn chose, or else of the session's model, or else
    /// of the first. Returns `None` if the only model has no name.
    pub(crate) fn choose(
        &self,
        (user, session): (&UserId, &SessionId),
        wanted: Option<ModelName>,
        models: &Models,
    ) -> Result<Option<ModelName>, Error> {
        let Some(first) = models.queues().first() else { return Err(Error::NoModel) };
        let own = || self.of_session.as_ref().and_then(|of_session| of_session(user, session));
        let known = |name: &ModelName| models.find(name).is_some();
        match wanted {
            Some(name) if known(&name) => Ok(Some(name)),
            Some(name) => Err(Error::UnknownModel { name: name.as_str().into() }),
            None => match own() {
                Some(name) => match ModelName::new(name.clone()) {
                    Ok(name) if known(&name) => Ok(Some(name)),
                    Ok(_) | Err(_) => Err(Error::UnknownModel { name }),
                },
                None => Ok(first.name().cloned()),
            },
        }
    }
}

impl fmt::Debug for ModelChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelChoice")
            .field("is_of_session", &self.of_session.is_some())
            .finish_non_exhaustive()
    }
}
