"""Names of other libraries over Gantry's own: a script's import line changes, the rest stays."""
