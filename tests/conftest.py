"""What every test sees. Fixtures of one theme belong in the conftest of its folder."""
