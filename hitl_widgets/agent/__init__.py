"""Our agent: one engine, whose calls a human decides."""
