"""The errors that users of qengine meet; the tree is drawn in `planner.errors`."""

from __future__ import annotations

from planner.errors import (
    BindError,
    DataError,
    ExpressionError,
    FileChanged,
    InternalError,
    NotSupported,
    Position,
    QEngineError,
    QueryCancelled,
    QueryError,
    ResourceError,
    StatisticsViolated,
    SyntaxFault,
)

__all__ = [
    "BindError",
    "DataError",
    "ExpressionError",
    "FileChanged",
    "InternalError",
    "NotSupported",
    "Position",
    "QEngineError",
    "QueryCancelled",
    "QueryError",
    "ResourceError",
    "StatisticsViolated",
    "SyntaxFault",
]
