"""The error of a package that cannot be made."""


class RefusedError(Exception):
    """Says in one sentence why no package was made, and what to do."""
