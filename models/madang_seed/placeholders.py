"""What the model answers after a result: a word in whose place code writes the text that a person reads.

The model never writes what is data. It chooses a placeholder, and the program renders it from the results. Where the
answer stands in an earlier turn, the prompt has the placeholder again.
"""

from __future__ import annotations

# What every call of the turn did. Without a call in the turn: what those of the last turn with calls did.
RESULT = "{result}"
# The hits of the last result, numbered, and the question which one is meant. Nothing was written yet.
WHICH = "{which}"
# How many the last listing found.
COUNT = "{count}"

PLACEHOLDERS = (RESULT, WHICH, COUNT)
