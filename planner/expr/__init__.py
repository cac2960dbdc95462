"""Typed expressions (`nodes`), structural equality (`equality`), values of types that Python lacks (`values`), and the table of
functions (`functions`)."""
