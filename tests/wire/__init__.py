"""Real provider SDKs against a loopback server that speaks their wire formats."""
