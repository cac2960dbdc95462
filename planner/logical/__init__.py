"""Logical operators (`nodes`) and what can be done with a plan as a whole without knowing any rule."""
