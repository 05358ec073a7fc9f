"""The control server of a fleet: an HTTP API over the environments of its own namespace."""
