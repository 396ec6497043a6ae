"""The long tests in parts of at most 45 minutes: what tests/nightly is made of. docs/nightly.md says how to use it."""
