"""The engines that can be measured, each behind the same protocol (`protocol.Engine`).

    protocol        what an adapter is, and what it is given: settings, statements
    qengine, duckdb, polars, datafusion, chdb, daft, pyspark
                    one adapter each; its docstring says which settings it uses and why they are fair
    polars_queries  the 22 queries as LazyFrames, written out from the specification

An adapter is imported in the process of its engine and nowhere else (`tpch.engine_process`), so that no engine costs memory or
threads in another's process, and the packages of all but qengine are optional. All get the same files, as many threads as
qengine has worker processes, and the same limit of memory; beyond that, what their own documentation recommends for a single
machine. Nobody gets settings for single queries.

Decision: SQL where an engine has SQL, with the same text for all. Polars is run with its own expressions, since its
documentation recommends them and its SQL layer is the younger part of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from tpch.results import Mode

SUBJECT = "qengine"
"""The engine that a benchmark is about, if it takes part: the others are its peers, and its answers have to be exact."""

ADAPTERS: Mapping[str, str] = MappingProxyType(
    {
        SUBJECT: "tpch.engines.qengine:QEngineAdapter",
        "duckdb": "tpch.engines.duckdb:DuckDBAdapter",
        "polars": "tpch.engines.polars:PolarsAdapter",
        "datafusion": "tpch.engines.datafusion:DataFusionAdapter",
        "chdb": "tpch.engines.chdb:ChDBAdapter",
        "daft": "tpch.engines.daft:DaftAdapter",
        "pyspark": "tpch.engines.pyspark:PySparkAdapter",
    }
)
"""Name of each engine, and `module:class` of its adapter."""


@dataclass(frozen=True, slots=True)
class Entry:
    """How an engine takes part: with which options, under which name, in which modes."""

    name: str
    engine: str
    options: Mapping[str, str] = field(default_factory=dict)
    modes: tuple[Mode, ...] = tuple(Mode)


VARIANTS = (Entry("qengine (no plan cache)", SUBJECT, {"plan_cache": "off"}, (Mode.HOT,)),)
"""What is measured beside an engine that takes part, to tell what one of its settings does. A variant is nobody's peer."""

INSTALL: Mapping[str, str] = MappingProxyType({"daft": "pip install --no-deps daft, which asks for an older pyarrow"})
"""How to install the package of an engine that does not come with the extra `bench`."""


def parse_engines(text: str) -> tuple[str, ...]:
    """Names of engines from text such as `qengine,duckdb`, in the order given, without repetitions.

    Raises ValueError: not an engine, with the names there are.
    """
    names = tuple(dict.fromkeys(name.strip().lower() for name in text.split(",")))
    for name in names:
        if name not in ADAPTERS:
            raise ValueError(f"there is no engine {name!r}: choose among {', '.join(ADAPTERS)}")
    return names
