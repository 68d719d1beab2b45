# %% [markdown]
# # 14 · Bring your own agent
#
# You already have an agent, made with another framework. Keep it. `hitl.run(your_agent, …)` runs
# it, shows the same cards, keeps the same record, and gives back what that framework gives. No
# network needed: the models here are scripts.
#
#     pip install "hitl-widgets[langchain]"      # for the second half

# %%
import hitl_widgets as hitl

deleted = []

# %% [markdown]
# ## pydantic-ai
#
# Nothing changes in your agent: a tool with `requires_approval=True` asks. Two calls wait here at
# once; **approve** `a.csv`, **decline** `b.csv` with a reason.

# %%
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel


def script(messages, info):
    """Two calls, then what came of them."""
    told = [p.content for m in messages for p in m.parts if isinstance(p, ToolReturnPart)]
    if told:
        return ModelResponse(parts=[TextPart(" | ".join(map(str, told)))])
    return ModelResponse(
        parts=[
            ToolCallPart("delete_file", {"path": "a.csv"}, tool_call_id="c1"),
            ToolCallPart("delete_file", {"path": "b.csv"}, tool_call_id="c2"),
        ]
    )


theirs = Agent(FunctionModel(script), name="cleaner")


@theirs.tool_plain(requires_approval=True)
def delete_file(path: str) -> str:
    """Delete a file."""
    deleted.append(path)
    return f"deleted {path}"


result = await hitl.run(theirs, "Clean up")
print(type(result).__name__, "-", result.output)
print(deleted)

# %% [markdown]
# `await hitl.run(theirs, "Clean up", key="clean")` survives a restart: run the cell again, and it
# goes on where it was.
#
# ## LangChain and LangGraph
#
# A LangChain agent with its human-in-the-loop middleware, or any graph that calls `interrupt`,
# needs a checkpointer. **Approve** the call.

# %%
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver


class Script(BaseChatModel):
    """A chat model that proposes one call and then reports."""

    @property
    def _llm_type(self):
        return "script"

    def bind_tools(self, *_, **__):
        return self

    def _generate(self, messages, *_, **__):
        told = [m.content for m in messages if isinstance(m, ToolMessage)]
        call = {"name": "drop_table", "args": {"name": "tmp"}, "id": "c1", "type": "tool_call"}
        said = AIMessage(f"It says: {told[-1]}") if told else AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=said)])


def drop_table(name: str) -> str:
    """Drop a table."""
    deleted.append(name)
    return f"dropped {name}"


review = HumanInTheLoopMiddleware({"drop_table": True}, interrupt_mode="per_call")
graph = create_agent(
    Script(), [drop_table], middleware=[review], checkpointer=InMemorySaver(), name="dba"
)
state = await hitl.run(graph, "Drop tmp", config={"configurable": {"thread_id": "lesson"}})
print(state["messages"][-1].content)

# %% [markdown]
# A graph of your own that asks for data gets a **form**, made from its `response_schema`. Type a
# city.

# %%
from typing import TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel


class City(BaseModel):
    city: str


class Trip(TypedDict):
    city: str


def where(state: Trip) -> Trip:
    return {"city": interrupt("Which city?", response_schema=City).city}


builder = StateGraph(Trip)
builder.add_node(where)
builder.add_edge(START, "where")
builder.add_edge("where", END)
trip = builder.compile(checkpointer=InMemorySaver(), name="trip")
await hitl.run(trip, {"city": ""}, config={"configurable": {"thread_id": "trip"}})

# %% [markdown]
# ## One record for all
#
# Whatever framework asked, the decisions stand in the same store, and the same inbox shows what
# waits.

# %%
[(row["agent_id"], row["tool"], row["verdict"]) for row in hitl.history()][-4:]

# %% [markdown]
# ## Anything else
#
# A framework that is not known here, or none at all: gate the **tool**. The function keeps its
# signature, so any framework's tool decorator takes it:
#
#     @their_framework.tool
#     @hitl.require_approval
#     async def delete_file(path: str) -> str: ...
#
# ## Exercises
#
# **14a.** Gate a plain function `empty_trash()` with `@hitl.require_approval`, and give it to a
# pydantic-ai agent called `tidy` as a tool (`tools=[empty_trash]`); `TestModel()` from
# `pydantic_ai.models.test` calls every tool. **14b.** Run `tidy` with its **own**
# `await tidy.run("Tidy up")`, decline the card, and keep the `hitl.Declined` error as `refused`.

# %%
# your code here
# solution:
from pydantic_ai.models.test import TestModel


@hitl.require_approval
async def empty_trash() -> str:
    """Empty the trash."""
    deleted.append("trash")
    return "emptied"


tidy = Agent(TestModel(), name="tidy", tools=[empty_trash])
try:
    await tidy.run("Tidy up")
except hitl.Declined as error:
    refused = error

# %%
hitl.testing.check_exercise(
    "14",
    {
        "tidy has your function as a tool": lambda: any(
            "empty_trash" in getattr(tools, "tools", {}) for tools in tidy.toolsets
        ),
        "the trash is still there": lambda: "trash" not in deleted,
        "your no reached the agent": lambda: isinstance(refused, hitl.Declined),
        "and stands in the record": lambda: hitl.history()[-1]["verdict"] == "decline",
    },
)
