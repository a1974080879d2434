"""Great Expectations, with pandas. Only the process of `sinks.quality.process` imports this module."""

from __future__ import annotations

from typing import Any

import great_expectations as gx
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from great_expectations import expectations as gxe
from great_expectations.core import ExpectationSuiteValidationResult
from great_expectations.data_context.types.base import DataContextConfig, InMemoryStoreBackendDefaults, ProgressBarsConfig

from sinks.quality.process import Outcome
from sinks.quality.suites import CLOCK, RATE, Expected, Suite, Unique

_NO_VALUES = {"result_format": "BASIC", "partial_unexpected_count": 0, "exclude_unexpected_values": True}
"""Results say only whether an expectation failed and how often, never a row's value."""

_FEW = 20
"""Number of values, from 0 on, that are shown as a set rather than as bounds."""

_MOST_CLOCK_MS = 10 * 365 * 24 * 3_600_000


class Validator:
    """Holds one topic's samples against its suite.  Not for two threads at a time."""

    def __init__(self, suite: Suite) -> None:
        config = DataContextConfig(
            store_backend_defaults=InMemoryStoreBackendDefaults(init_temp_docs_sites=False),  # it would leave a folder in /tmp
            analytics_enabled=False,
            progress_bars=ProgressBarsConfig(globally=False),
        )
        # By name, or an environment variable could make it a context of files or of a cloud.
        context = gx.get_context(mode="ephemeral", project_config=config)
        self.gx_suite = context.suites.add(gx.ExpectationSuite(name=suite.topic))
        for each in suite.of_samples:
            self.gx_suite.add_expectation(_expectation(each))
        asset = context.data_sources.add_pandas("samples").add_dataframe_asset(suite.topic)
        self._samples = asset.add_batch_definition_whole_dataframe("sample")

    def validate(self, sample: pa.Table, rate_ratio: float | None) -> tuple[list[Outcome], ExpectationSuiteValidationResult]:
        """Validates one sample.

        Args:
            sample: as `udfs.kernels.sample_facts.of_rows` makes it.

        Returns:
            an outcome for each of the suite's expectations of samples that could be judged, and what Data Docs are made of.
        """
        # Not by a validation definition's run: the context would keep every result.
        batch = self._samples.get_batch({"dataframe": _frame(sample, rate_ratio)})
        result = batch.validate(self.gx_suite, result_format=_NO_VALUES)
        return [_outcome(each) for each in result.results if not each.exception_info.get("raised_exception", True)], result


def _expectation(each: Expected | Unique) -> gxe.Expectation:
    common: dict[str, Any] = {
        "mostly": 1 - each.tolerated,
        "description": f"{each.name}: {each.about}{_tolerance(each.tolerated)}",
        "meta": {"name": each.name},
        "severity": "warning",
    }
    if isinstance(each, Unique):
        return gxe.ExpectCompoundColumnsToBeUnique(column_list=list(each.columns), **common)
    if each.least == 0 and each.most is not None and each.most < _FEW:
        return gxe.ExpectColumnValuesToBeInSet(column=each.fact, value_set=list(range(int(each.most) + 1)), **common)
    return gxe.ExpectColumnValuesToBeBetween(column=each.fact, min_value=each.least, max_value=each.most, **common)


def _tolerance(share: float) -> str:
    return f" (in all but {share:.0%} of the rows)" if share else ""


def _outcome(result: Any) -> Outcome:
    return result.expectation_config.meta["name"], bool(result.success), int(result.result.get("unexpected_count", 0))


def _frame(sample: pa.Table, rate_ratio: float | None) -> Any:
    recorded, appended = (sample.column(name).to_numpy() for name in ("told_ms", "appended_ms"))
    # As floating point, and within bounds: a client's time may be anything that 64 bits hold.
    clock = np.clip(recorded.astype(np.float64) - appended, -_MOST_CLOCK_MS, _MOST_CLOCK_MS)
    rates = pa.array(np.full(len(sample), np.nan if rate_ratio is None else rate_ratio))
    frame = sample.append_column(CLOCK, pa.array(clock)).append_column(RATE, pc.if_else(pc.is_nan(rates), None, rates)).to_pandas()
    if not all(np.issubdtype(kind, np.number) for kind in frame.dtypes):
        raise TypeError("a column that isn't of numbers may hold anything")
    return frame
