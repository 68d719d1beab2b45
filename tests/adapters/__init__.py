"""Other frameworks' agents, with the real libraries and models that follow a script."""
