"""A small made-up file for each format: what other tools write, three or four requests long."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

ARRIVAL = [0.0, 0.5, 2.0]
PROMPT = [374, 0, 91]
OUTPUT = [44, 109, 16]


@dataclass(frozen=True)
class Sample:
    """A file's content, and what reading it must give beside PROMPT and OUTPUT."""

    content: str
    format: str
    arrival: list[float] | None = None
    label: list[str] = field(default_factory=lambda: ["", "", ""])
    measured: dict[str, list[float]] = field(default_factory=dict)


def _csv(header: str, *rows: str) -> str:
    return "\n".join([header, *rows]) + "\n"


def _lines(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


SAMPLES = {
    "azure-2023": Sample(
        "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:15:46.6805900,374,44\r\n"
        "2023-11-16 18:15:47.1805900,0,109\r\n2023-11-16 18:15:48.6805900,91,16",
        "azure", ARRIVAL,
    ),
    "azure-2024": Sample(
        _csv(
            "TIMESTAMP,ContextTokens,GeneratedTokens", "2024-05-10 00:00:00.500000+00:00,374,44",
            "2024-05-10 00:00:01+00:00,0,109", "2024-05-10 00:00:02.500000+00:00,91,16",
        ),
        "azure", ARRIVAL,
    ),
    "azure-zones": Sample(
        _csv(
            "TIMESTAMP,ContextTokens,GeneratedTokens", "2024-05-10T02:00:00.5+02:00,374,44",
            "2024-05-10T00:00:01Z,0,109", "2024-05-09T19:00:02.5-05:00,91,16",
        ),
        "azure", ARRIVAL,
    ),
    "azure-multimodal": Sample(
        _csv(
            "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens", "2025-01-01 00:00:00.000,1,374,44",
            "2025-01-01 00:00:00.500,0,0,109", "2025-01-01 00:00:02.000,2,91,16",
        ),
        "azure", ARRIVAL,
    ),
    "burstgpt": Sample(
        _csv(
            "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type",
            "5,ChatGPT,374,44,418,Conversation log", "5.5,GPT-4,0,109,109,API log",
            "7,ChatGPT,91,16,107,Conversation log",
        ),
        "burstgpt", ARRIVAL, ["ChatGPT", "GPT-4", "ChatGPT"],
    ),
    "burstgpt-sessions": Sample(
        _csv(
            "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type",
            "5,s1,3.25,ChatGPT,374,44,418,Conversation log", "5.5,,,GPT-4,0,109,109,API log",
            "7,s1,0.5,ChatGPT,91,16,107,Conversation log",
        ),
        "burstgpt", ARRIVAL, ["ChatGPT", "GPT-4", "ChatGPT"],
        {"measured_latency": [3.25, float("nan"), 0.5]},
    ),
    "mooncake": Sample(
        _lines(
            {"timestamp": 3000, "input_length": 374, "output_length": 44, "hash_ids": [0, 1]},
            {"timestamp": 3500, "input_length": 0, "output_length": 109, "hash_ids": []},
            {"timestamp": 5000, "input_length": 91, "output_length": 16, "hash_ids": [0]},
        ),
        "mooncake", ARRIVAL,
    ),
    "bailian": Sample(
        _lines(
            {"chat_id": 1, "parent_chat_id": -1, "timestamp": 61.0, "input_length": 374,
             "output_length": 44, "type": "text", "turn": 1, "hash_ids": [1]},
            {"chat_id": 2, "parent_chat_id": 1, "timestamp": 61.5, "input_length": 0,
             "output_length": 109, "type": "search", "turn": 2, "hash_ids": []},
            {"chat_id": 3, "parent_chat_id": -1, "timestamp": 63.0, "input_length": 91,
             "output_length": 16, "type": "text", "turn": 1, "hash_ids": []},
        ),
        "bailian", ARRIVAL, ["text", "search", "text"],
    ),
    "vidur": Sample(
        _csv("arrived_at,num_prefill_tokens,num_decode_tokens", "0.0,374,44", "0.5,0,109", "2.0,91,16"),
        "vidur", ARRIVAL,
    ),
    "vidur-intervals": Sample(
        _csv(
            "arrival_time,num_prefill_tokens,num_decode_tokens", "2023-11-16 18:00:00,374,44",
            "2023-11-16 18:00:00.5,0,109", "2023-11-16 18:00:02,91,16",
        ),
        "vidur-intervals", ARRIVAL,
    ),
    "vidur-lengths": Sample(
        _csv(
            "num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio", "374,44,418,8.5",
            "0,109,109,0.0", "91,16,107,5.6875",
        ),
        "vidur-lengths",
    ),
    "splitwise-sim": Sample(
        _csv(
            "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size",
            "0,2,0,10.0,1,374,44", "1,2,0,10.5,1,0,109", "2,2,0,12.0,1,91,16",
        ),
        "splitwise-sim", ARRIVAL,
    ),
    "vllm-sr-sim": Sample(
        _csv(
            "timestamp,prompt_tokens,generated_tokens,selected_model,complexity,category",
            "1.0,374,44,a,low,math", "1.5,0,109,b,high,law", "3.0,91,16,a,low,math",
        ),
        "vllm-sr-sim", ARRIVAL, ["math", "law", "math"],
    ),
    "llmservingsim": Sample(
        _lines(
            {"input_toks": 374, "output_toks": 44, "arrival_time_ns": 1_700_000_000_000_000_001},
            {"input_toks": 0, "output_toks": 109, "arrival_time_ns": 1_700_000_000_500_000_001},
            {"input_toks": 91, "output_toks": 16, "arrival_time_ns": 1_700_000_002_000_000_001},
        ),
        "llmservingsim", ARRIVAL,
    ),
    "distserve": Sample(
        json.dumps(
            [
                {"start_time": 4.0, "prompt_len": 374, "output_len": 44},
                {"start_time": 4.5, "prompt_len": 0, "output_len": 109},
                {"start_time": 6.0, "prompt_len": 91, "output_len": 16},
            ],
            indent=1,
        ),
        "distserve", ARRIVAL,
    ),
    "vtc": Sample(
        json.dumps(
            {
                "config": {"req_rate": 2},
                "result": {
                    "total_time": 9.5,
                    "responses": [
                        {"adapter_dir": name, "prompt_len": prompt, "output_len": output, "req_time": time,
                         "request_latency": 9.5, "first_token_latency": 1.25}
                        for name, prompt, output, time in zip("aba", PROMPT, OUTPUT, ARRIVAL, strict=True)
                    ],
                },
            }
        ) + "\n",
        "vtc", ARRIVAL, ["a", "b", "a"],
        {"measured_latency": [9.5, 9.5, 9.5], "measured_ttft": [1.25, 1.25, 1.25]},
    ),
    "blis": Sample(
        _csv(
            "request_id,client_id,input_tokens,output_tokens,arrival_time_us,status",
            "0,x,374,44,1000000,ok", "1,y,0,109,1500000,ok", "2,x,91,16,3000000,ok",
        ),
        "blis", ARRIVAL, ["x", "y", "x"],
    ),
    "lengths": Sample(
        json.dumps(
            {"data": [{"input_length": p, "output_length": o} for p, o in zip(PROMPT, OUTPUT, strict=True)]}
        ),
        "lengths",
    ),
    "lmsys-lengths": Sample(
        _csv("question_length,answer_length", "374,44", "0,109", "91,16"), "lmsys-lengths"
    ),
    "pairs": Sample(json.dumps([[374, 44], [0, 109], [91, 16]]), "pairs"),
    "pairs-lines": Sample("[374, 44]\n[0, 109]\n[91, 16]\n", "pairs"),
    "own": Sample(
        _csv(
            "arrival,prompt_tokens,output_tokens,label,time_unit", "0.0,374,44,chat,s", "0.5,0,109,,s",
            "2.0,91,16,code,s",
        ),
        "csv", ARRIVAL, ["chat", "", "code"],
    ),
}  # fmt: skip
"""By name; together every format that is recognised by its columns."""
