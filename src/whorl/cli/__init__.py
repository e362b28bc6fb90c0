"""Commands: one module per command or subject. `main` loads them; the modules of `shared` and `render` help them."""
