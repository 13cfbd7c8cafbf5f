"""From a config and the arguments to a sizing problem."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mamba_advisor.boot.model import Boot, Releases, Source
from mamba_advisor.measured import UNITS, Measured
from mamba_advisor.modelconfig import ConfigFile, Launch, ModelBytes
from mamba_advisor.plan.budget import budget_sentences, shared_budget
from mamba_advisor.plan.constants import constants_of
from mamba_advisor.plan.drafts import DraftPlan, plan_drafts
from mamba_advisor.plan.gpus import Gpu, find_gpu, gpu_of_size
from mamba_advisor.plan.model import Plan
from mamba_advisor.plan.options import PlanOptions
from mamba_advisor.plan.settled import Settled, planned_drafts, settle
from mamba_advisor.plan.weights import Weights, weights_on_rank
from mamba_advisor.record import replace
from mamba_advisor.sizing import SizingProblem
from mamba_advisor.sizing.releases import LAST_RELEASE, release_note, require_ratio


def make_plan(
    config: ConfigFile | Mapping[str, Any] | None, options: PlanOptions
) -> Plan:
    """Return the plan of a server.

    Args:
        config: The model's config, as read from a file or as a mapping; None where
            both constants are given by hand.
        options: What the user says.

    Raises:
        ConfigError: The config cannot be read, or the family is unknown.
        FactError: The release has no ratio to set.
        InputError: An option cannot be.
        NotHybridError: SGLang keeps no state pool for the model.
    """
    require_ratio(options.sglang_version)
    name, content, folder = _parts(config)
    gpu = _gpu(options)
    launch = _launch(options, gpu)
    model = constants_of(content, options, launch)
    settled = settle(content or {}, model, options, gpu)
    drafts = plan_drafts(
        content or {},
        model,
        options,
        launch,
        settled.text("speculative_algorithm"),
    )
    weights = weights_on_rank(content or {}, folder, options)
    budget = None
    sentences: list[str] = []
    shared = options.budget
    if gpu is not None and weights is not None:
        budget = shared_budget(content or {}, model, options, gpu, weights)
        origin = "option" if budget.fraction.is_given else "default"
        settled.put("mem_fraction_static", round(budget.fraction.value, 3), origin)
        if shared is None:
            shared = budget.shared
            sentences = budget_sentences(budget, gpu, weights)
    problems = _problems(model, settled, drafts, options, shared)
    return Plan(
        boot=_boot(name, model, settled, options),
        model=model,
        options=options,
        version=options.sglang_version,
        problem=problems[0],
        low=problems[1],
        high=problems[2],
        budget=shared,
        charged_cell=max(drafts.cells),
        draft_cell=drafts.uncharged,
        gpu=gpu,
        fraction=budget.fraction if budget else None,
        weights=weights,
        reserve=budget.reserve if budget else None,
        assumptions=(
            *sentences,
            *model.notes,
            *settled.assumptions,
            *drafts.assumptions,
            *_unbudgeted(model),
        ),
        missing=_missing(options, gpu, weights),
    )


def _parts(
    config: ConfigFile | Mapping[str, Any] | None,
) -> tuple[str, Mapping[str, Any] | None, Path | None]:
    """Return a config's name, content and folder."""
    if isinstance(config, ConfigFile):
        return str(config.path), config.config, config.folder
    return "config.json", config, None


def _gpu(options: PlanOptions) -> Gpu | None:
    """Return the GPU; a size given beside a name wins, the name's kind stays."""
    named = find_gpu(options.gpus) if options.gpus is not None else None
    if options.gpu_memory is not None:
        return gpu_of_size(options.gpu_memory, named.sm if named else None)
    return named


def _launch(options: PlanOptions, gpu: Gpu | None) -> Launch:
    """Return what the bytes depend on."""
    drafts = planned_drafts(options)
    return Launch(
        tp_size=options.tp_size,
        pp_size=options.pp_size,
        dcp_size=options.dcp_size,
        attn_dp_size=options.attn_dp_size,
        mamba_ssm_dtype=options.mamba_ssm_dtype,
        conv_dtype=options.conv_dtype,
        kv_cache_dtype=options.kv_cache_dtype,
        sm=gpu.sm if gpu else None,
        swa_full_tokens_ratio=options.swa_full_tokens_ratio,
        speculative_num_draft_tokens=drafts,
        speculative_eagle_topk=options.speculative_eagle_topk or 1,
        enable_linear_replayssm_spec=options.replayssm and drafts > 0,
        enable_linear_replayssm=options.replayssm and drafts == 0,
        sglang_version=options.sglang_version,
    )


def _problems(
    model: ModelBytes,
    settled: Settled,
    drafts: DraftPlan,
    options: PlanOptions,
    shared: Measured | None,
) -> tuple[SizingProblem | None, SizingProblem | None, SizingProblem | None]:
    """Return the problem at the budget's best value and at its ends."""
    if shared is None:
        return None, None, None
    gib = UNITS["GiB"]
    best = SizingProblem(
        rest_gib=shared.value / gib,
        slot_bytes=model.model_state_bytes,
        cells=drafts.cells,
        page_size=settled.number("page_size"),
        context_len=settled.number("context_length"),
        stage_state_layers=model.largest_stage_layers,
        all_state_layers=model.all_state_layers,
        state_family=model.state_kind,
        ring_bytes=_ring_bytes(model),
        replayssm_spec=model.replayssm_ring_bytes is not None,
        ratio=_ratio(settled),
        pin=options.pin,
        max_running_requests=options.max_running_requests,
        max_total_tokens=options.max_total_tokens,
        disable_radix_cache=settled.switch("disable_radix_cache"),
        disable_overlap_schedule=settled.switch("disable_overlap_schedule"),
        strategy=settled.text("mamba_radix_cache_strategy") or "auto",
        skip_decode_lock=options.skip_decode_lock,
        speculative_algorithm=settled.text("speculative_algorithm"),
        draft_tokens=_set_number(settled, "speculative_num_draft_tokens"),
        draft_steps=_set_number(settled, "speculative_num_steps"),
        draft_topk=_set_number(settled, "speculative_eagle_topk"),
        attn_dp_size=options.attn_dp_size,
        dcp_size=options.dcp_size,
    )
    low = replace(best, rest_gib=shared.low / gib)
    return best, low, replace(best, rest_gib=shared.high / gib)


def _ratio(settled: Settled) -> float:
    ratio = settled.settings["mamba_full_memory_ratio"].value
    assert isinstance(ratio, int | float)
    return float(ratio)


def _set_number(settled: Settled, name: str) -> int:
    """Return a number that may be unset: 0 then."""
    return 0 if settled.settings[name].value is None else settled.number(name)


def _ring_bytes(model: ModelBytes) -> int:
    """Return a ring over all state layers of the model, 0 without one."""
    if model.replayssm_ring_bytes is None:
        return 0
    layers = model.linear_layers
    return model.replayssm_ring_bytes // layers * model.all_state_layers


def _boot(name: str, model: ModelBytes, settled: Settled, options: PlanOptions) -> Boot:
    """Return the server as if it had been read from a log."""
    version = options.sglang_version
    given = version != LAST_RELEASE
    evidence = (
        f"SGLang {version} "
        + ("as given" if given else "is taken, the newest release known here"),
        release_note(version),
    )
    return Boot(
        source=Source(name, 0, 0),
        number=1,
        outcome=None,
        releases=Releases(
            version,
            version,
            tuple(sentence for sentence in evidence if sentence),
            given,
        ),
        hybrid=True,
        hybrid_evidence=(
            "the state bytes were given by hand"
            if model.state_kind == "given"
            else f"the config's family {model.family} keeps states"
        ),
        architecture=model.architecture,
        draft_architecture=None,
        settings=dict(settled.settings),
        ranks=(),
    )


def _unbudgeted(model: ModelBytes) -> Iterator[str]:
    """Yield what comes beside the pools and out of nobody's budget."""
    for extra in model.unbudgeted:
        yield (
            f"{extra.name}: {extra.bytes} bytes per {extra.per} are allocated beside "
            "the pools and not in the budget"
        )


def _missing(
    options: PlanOptions, gpu: Gpu | None, weights: Weights | None
) -> tuple[str, ...]:
    """Return the options that a budget still needs."""
    if options.budget is not None:
        return ()
    found = []
    if gpu is None:
        found.append("--gpu-memory SIZE or --gpus NAME")
    if weights is None:
        found.append("--weights SIZE")
    return tuple(found)
