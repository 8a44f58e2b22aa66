"""What `tpharness init` writes: files as they are, read as data and never imported."""
