"""The `envfleet` command: what `make` targets call, and what operators use day to day."""
