package config

// notImplemented refuses a key that is fixed and does nothing yet, so that nobody relies on it.
func notImplemented(v value) { v.fail("is not implemented in this version: remove the key") }
