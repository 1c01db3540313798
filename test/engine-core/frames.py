"""Prints frames.hex: messages of vLLM's engines, written by Debian's python3-msgpack and nothing of this package.

    /usr/bin/python3 test/engine-core/frames.py > test/engine-core/frames.hex

A line is the bytes of one value, or of the header of one that holds others, and what they are.
"""

import struct
from collections import namedtuple

from msgpack import ExtType, Packer

packer = Packer()

PICKLE, CLOUDPICKLE, RAW = 1, 2, 3

# A value whose bytes are chosen here, and a list whose values have names.
Bytes = namedtuple("Bytes", "bytes note")
Positions = namedtuple("Positions", "pairs")


def float32(number):
    return Bytes(Packer(use_single_float=True).pack(float(number)), f"{number} as float32")


def float64(number):
    return Bytes(packer.pack(float(number)), f"{number} as float64")


def uint64(number):
    return Bytes(b"\xcf" + struct.pack(">Q", number), f"{number} as uint64")


def int64(number):
    return Bytes(b"\xd3" + struct.pack(">q", number), f"{number} as int64")


def timestamp(data):
    return Bytes(b"\xc7" + bytes([len(data)]) + b"\xff" + data, f"timestamp of {len(data)} bytes")


def long_text(text):
    return Bytes(b"\xda" + struct.pack(">H", len(text)) + text.encode(), f"{text!r} with a length of 2 bytes")


def tensor(dtype, shape, data):
    """The data, or the frame that holds them."""
    return [dtype, shape, ExtType(RAW, data) if isinstance(data, bytes) else data]


# Field and default, by position.
MESSAGE = (
    ("engine_index", 0),
    ("outputs", []),
    ("scheduler_stats", None),
    ("timestamp", 0.0),
    ("utility_output", None),
    ("finished_requests", None),
    ("wave_complete", None),
    ("start_wave", None),
    ("engine_notifications", None),
    ("something_new", None),
)
ALWAYS = (
    ("request_id", ""),
    ("new_token_ids", []),
    ("new_logprobs", None),
    ("new_prompt_logprobs_tensors", None),
    ("pooling_output", None),
    ("finish_reason", None),
    ("stop_reason", None),
    ("events", None),
    ("kv_transfer_params", None),
)
A = (*ALWAYS, ("num_cached_tokens", 0))
B = (
    *ALWAYS,
    ("trace_headers", None),
    ("num_cached_tokens", 0),
    ("num_external_computed_tokens", 0),
    ("routed_experts", None),
    ("num_nans_in_logits", 0),
)
C = (
    *ALWAYS,
    ("trace_headers", None),
    ("prefill_stats", None),
    ("routed_experts", None),
    ("num_nans_in_logits", 0),
)
D = (
    *ALWAYS,
    ("ec_transfer_params", None),
    ("trace_headers", None),
    ("prefill_stats", None),
    ("routed_experts", None),
    ("num_nans_in_logits", 0),
)
LATER = (
    *D,
    ("mm_cache_miss_hashes", None),
    ("new_sampling_mask", None),
    ("spec_decode_metrics", None),
    ("something_new", None),
)


def positions(layout, **fields):
    """Leaves out the defaults at the end, and writes those between."""
    last = max(index for index, (name, _) in enumerate(layout) if name in fields)
    return Positions([(name, fields.get(name, default)) for name, default in layout[: last + 1]])


def event(kind, timestamp, **more):
    return {"type": kind, "timestamp": timestamp, **more}


def prefill(prompt, local, external):
    return {
        "num_prompt_tokens": prompt,
        "num_computed_tokens": prompt - local - external,
        "num_cached_tokens": local + external,
        "num_local_cached_tokens": local,
        "num_external_cached_tokens": external,
    }


HEADERS = {"traceparent": "00-1f-2e-01"}

FRAMES = {
    "layout A": positions(
        MESSAGE,
        engine_index=1,
        outputs=[
            positions(
                A,
                request_id="a",
                new_token_ids=[7, 100000],
                events=[event(1, 12.25), event(2, 12.5)],
                num_cached_tokens=64,
            ),
            positions(A, request_id="b", finish_reason=1),
            positions(A, request_id="c", new_token_ids=[9]),
        ],
        timestamp=13.5,
    ),
    "layout B": positions(
        MESSAGE,
        engine_index=300,
        outputs=[
            positions(
                B,
                request_id="a",
                new_token_ids=[7],
                trace_headers=HEADERS,
                num_cached_tokens=64,
                num_external_computed_tokens=16,
                num_nans_in_logits=3,
            ),
            positions(B, request_id="b", new_token_ids=[8], num_cached_tokens=32),
        ],
        timestamp=13.5,
    ),
    "layout C": positions(
        MESSAGE,
        outputs=[
            positions(
                C,
                request_id="a",
                new_token_ids=[7],
                trace_headers=HEADERS,
                prefill_stats=prefill(100, 48, 16),
                routed_experts=tensor("<i2", [1, 2], b"\1\0\2\0"),
                num_nans_in_logits=2,
            ),
            positions(C, request_id="b", new_token_ids=[8], trace_headers=HEADERS),
        ],
        timestamp=13.5,
    ),
    "layout D": positions(
        MESSAGE,
        outputs=[
            positions(
                D,
                request_id="a",
                new_token_ids=[7],
                kv_transfer_params={"remote_block_ids": [1, 2]},
                ec_transfer_params={"peer": "encoder"},
                trace_headers=HEADERS,
                prefill_stats=prefill(100, 48, 16),
                num_nans_in_logits=1,
            ),
            positions(D, request_id="b", new_token_ids=[8], trace_headers=HEADERS),
            positions(D, request_id="c", prefill_stats=prefill(5, 0, 0)),
        ],
        timestamp=13.5,
    ),
    "later": positions(
        MESSAGE,
        outputs=[
            positions(
                LATER,
                request_id="ü-" + "x" * 32,
                new_token_ids=[7, 8],
                new_logprobs=[
                    tensor("int32", [2, 2], 1),
                    tensor("float32", [2, 2], 2),
                    [1, 2],
                    None,
                ],
                new_prompt_logprobs_tensors=[tensor("<i4", [1], b"\1\0\0\0"), [-0.5, float("-inf")]],
                pooling_output=tensor("bfloat16", [2], b"\0\1\2\3"),
                finish_reason=0,
                stop_reason="</s>",
                events=[event(3, 12.75, reason="no free blocks", preempted_by=["b"])],
                kv_transfer_params={"blocks": b"\xc1\xff", "nested": {"deep": [None, True]}},
                trace_headers={**HEADERS, "tracestate": "vendor=1"},
                prefill_stats={**prefill(100, 48, 16), "num_cache_creation_tokens": 36, "num_new": 1},
                routed_experts=tensor("<i2", [12], bytes(24)),
                num_nans_in_logits=0,
                mm_cache_miss_hashes=["hash"],
                new_sampling_mask=[tensor("|b1", [3], b"\1\0\1")],
                spec_decode_metrics={"num_drafts": 1},
                something_new=[ExtType(PICKLE, b"\x80\x04N."), ExtType(CLOUDPICKLE, bytes(17))],
            ),
        ],
        timestamp=13.5,
        engine_notifications=[{"kind": "weights"}],
        something_new={"odd": 1},
    ),
    "numbers": positions(
        MESSAGE,
        engine_index=float32(7),
        outputs=[
            positions(
                D,
                request_id=long_text("a"),
                finish_reason=uint64(4),
                events=[event(float64(2), int64(12)), event(uint64(3), float32(12.5))],
                prefill_stats={
                    **prefill(100, 0, 0),
                    "num_prompt_tokens": uint64(2**53 + 2),
                    "num_computed_tokens": float64(36),
                    "num_cached_tokens": int64(-1),
                },
                num_nans_in_logits=uint64(1),
            ),
            positions(A, request_id="b", num_cached_tokens=float64(64)),
            positions(B, request_id="c", num_cached_tokens=uint64(64), num_external_computed_tokens=float32(16)),
        ],
        timestamp=uint64(13),
    ),
    "statistics": positions(
        MESSAGE,
        engine_index=2,
        scheduler_stats={
            "num_running_reqs": 2,
            "num_waiting_reqs": uint64(3),
            "kv_cache_usage": float32(0.5),
            "prefix_cache_stats": {"reset": False, "queries": 10, "hits": -1, "hits_by_source": {"device": 4}},
            "spec_decoding_stats": {"num_drafts": 1, "num_accepted_tokens_per_pos": [1, 0]},
            "perf_stats": {"num_flops_per_gpu": 2**53 + 1, "num_read_bytes_per_gpu": int64(5)},
            "kv_connector_stats": None,
            "waiting_lora_adapters": {},
            "new": {"pickle": ExtType(PICKLE, b"N."), "odd": timestamp(bytes(5)), 5: 1, uint64(6): 2, None: 3},
        },
        timestamp=13.5,
    ),
    "requests let go": positions(MESSAGE, timestamp=13.5, finished_requests=["a", "b"]),
    "a utility reply": positions(MESSAGE, utility_output=[2**40, None, ["result", [1]]]),
    "a wave that is complete": positions(MESSAGE, engine_index=1, wave_complete=5),
    "a wave that starts": positions(MESSAGE, engine_index=1, start_wave=6),
    "dead": Bytes(b"ENGINE_CORE_DEAD", "no MessagePack, 16 letters"),
}


def lines(name, value):
    """The lines of one value, as depth, bytes and note."""
    if isinstance(value, Bytes):
        return [(0, value.bytes, f"{name}: {value.note}")]
    if isinstance(value, dict):
        inner = [line for key, item in value.items() for line in pair(key, item)]
        return [(0, packer.pack_map_header(len(value)), f"{name}, map of {len(value)}"), *deeper(inner)]
    if isinstance(value, (list, Positions)):
        pairs = value.pairs if isinstance(value, Positions) else [("", item) for item in value]
        inner = [line for at, (field, item) in enumerate(pairs) for line in lines(f"{at} {field}".strip(), item)]
        return [(0, packer.pack_array_header(len(pairs)), f"{name}, array of {len(pairs)}"), *deeper(inner)]
    shown = f"{len(value)} bytes" if isinstance(value, bytes) and len(value) > 16 else repr(value)
    if isinstance(value, ExtType):
        shown = f"extension {value.code}, {len(value.data)} bytes"
    return [(0, packer.pack(value), f"{name}: {shown}")]


def pair(key, value):
    """The key stands on the line on which its value begins."""
    name, packed = (key.note, key.bytes) if isinstance(key, Bytes) else (key, packer.pack(key))
    (depth, first, note), *rest = lines(name, value)
    return [(depth, packed + first, note), *rest]


def deeper(inner):
    return [(depth + 1, packed, note) for depth, packed, note in inner]


for title, frame in FRAMES.items():
    print(f"= {title}")
    for depth, packed, note in lines("message", frame):
        print(f"{'  ' * depth}{packed.hex(' ')}  ; {note}")
