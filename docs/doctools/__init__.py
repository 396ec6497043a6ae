"""What docs/generate, docs/reflow, docs/site/build and the tests of the pages share. `pages.toml` says which page is
about what."""
