"""Commands: one module per command or subject, loaded by `main`. `shared` and `render` contain their common code."""
