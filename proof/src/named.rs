//! Names the variants of an enum: on command lines, in figures and in `docs/proof.md`.

/// Makes an enum whose variants have names, with the list of all, and a search by name.
macro_rules! named {
    ($(#[$meta:meta])* $vis:vis enum $kind:ident {
        $($(#[$of:meta])* $variant:ident = $name:expr,)*
    }) => {
        $(#[$meta])*
        $vis enum $kind {
            $($(#[$of])* $variant,)*
        }

        impl $kind {
            /// All of them.
            $vis const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            /// Returns its name.
            #[must_use]
            $vis const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Finds the one with this name.
            #[must_use]
            $vis fn named(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.name() == name)
            }
        }
    };
}
pub(crate) use named;
