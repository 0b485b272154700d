//! The languages in which a runtime writes its own sentences: reasons, questions, notices and
//! errors.
//!
//! The options of a turn or a call name the language by its [`LanguageTag`](crate::LanguageTag),
//! and [`Builder::language`](crate::Builder::language) names it for all others. If neither names
//! one, [`Languages::detect`] finds that of the user's text. English and Korean are included, and
//! an application adds others:
//!
//! ```
//! # use madang_testing::{MemoryStore, ScriptedModel};
//! use madang::{LanguageTag, Runtime, TurnOptions, language::{Language, Text}};
//!
//! #[derive(Debug)]
//! struct French;
//!
//! impl Language for French {
//!     fn tag(&self) -> LanguageTag {
//!         LanguageTag::new("fr").expect("two letters are a tag")
//!     }
//!
//!     fn say(&self, text: &Text<'_>) -> Option<String> {
//!         Some(match text {
//!             Text::ModelFailed(kind) => format!("le modèle a échoué : {kind}"),
//!             Text::RunTool(name) => format!("Exécute l'outil {name}."),
//!             // and so on
//!             _ => return None, // English says it.
//!         })
//!     }
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (model, store) = (ScriptedModel::new([]), MemoryStore::new());
//! let runtime = Runtime::builder().model(model).store(store).add_language(&French).start().await?;
//! let session = runtime.user("kim")?.session("chat-1").await?;
//! let options = TurnOptions { language: Some("fr-CA".parse()?), ..TurnOptions::default() };
//! let failed = session.send_with("Bonjour", options).await?.text().await.unwrap_err();
//! assert!(failed.to_string().contains("le modèle a échoué"));
//! # Ok(runtime.shutdown().await?)
//! # }
//! ```
//!
//! The tag is stored with the turn, so its sentences are in the same language whenever they are
//! read again. The model answers in the language of the user's text, whatever the tag is.

pub use madang_actors::protocol::{
    English, InvalidLanguageTag, Korean, Language, Languages, Locale, Particle, Text,
};
