"""Commands: one module per command or subject. `main` loads them; `shared` and `render` are code that they share."""
