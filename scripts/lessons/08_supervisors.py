# %% [markdown]
# # 8 · Supervisors: agents that have agents
#
# A supervisor delegates to other agents. When one of those, however deep, wants to do something
# dangerous, the question comes up to **you**, and says through whom it came. No network needed.

# %%
import hitl_widgets as hitl

done = []


@hitl.tool(require_approval=True)
async def delete_table(name: str) -> str:
    """Delete a table."""
    done.append(name)
    return f"deleted {name}"


def told(messages):
    return f"I was told: {messages[-1].parts[-1].content}"


# %% [markdown]
# Three levels. `agents=[…]` turns each agent into a tool `agent-<id>` with one argument `prompt`;
# its `description` is what the agent above it reads when it decides whom to ask.

# %%
database = hitl.Agent(
    "database",
    description="Looks after tables.",
    tools=[delete_table],
    model=hitl.ScriptedModel([[hitl.call("delete_table", name="logs_2019")], told]),
)
operations = hitl.Agent(
    "operations",
    description="Runs the machines; knows the database agent.",
    agents=[database],
    model=hitl.ScriptedModel([[hitl.call("agent-database", prompt="Delete old logs")], told]),
)
director = hitl.Agent(
    "director",
    agents=[operations],
    model=hitl.ScriptedModel([[hitl.call("agent-operations", prompt="Make room")], told]),
)
hitl.policy_table(director)

# %% [markdown]
# Run it. There is **one** panel, the director's; the card in it says
# *director › operations › database*. Approve.

# %%
result = await director.run("We are out of space")
result.text

# %% [markdown]
# Read the answer from the inside out: the database agent was told, told operations, who told the
# director. Nothing was asked twice, and no agent approved anything for another: only people
# consent.
#
# ## From code
#
# `generate` at the top stops for a question at the bottom. The run and the decision are the
# **director's**: one run id for the whole tree.

# %%
run = await director.generate("We are out of space")
request = run.requests[0]
print(run.finish_reason, request.tool_name, request.agent_path)

# %%
run = await director.decline_tool_call_generate(run_id=run.run_id, reason="Archive it first.")
print(run.text)
print(done)

# %% [markdown]
# ## A stricter run
#
# What the supervisor's run asks for holds below it too: with `require_tool_approval=True` even
# the delegation itself is a card. A nested agent can be stricter than its supervisor, never laxer.
# Approve the three cards, one after the other.

# %%
strict = await director.run("We are out of space", require_tool_approval=True)
[(row["tool"], row["agent_path"]) for row in hitl.history()][-3:]

# %% [markdown]
# ## Exercises
#
# **8a.** Make an agent `helper` with a tool `note(text)` that needs approval and appends to
# `notes`, and a supervisor `boss` that delegates to it. **8b.** Start it with
# `boss.generate(…)` as `asked`, and approve from code, as `answered`.

# %%
notes = []

# your code here
# solution:
notes = []


@hitl.tool(require_approval=True)
async def note(text: str) -> str:
    """Write a note."""
    notes.append(text)
    return "noted"


helper = hitl.Agent(
    "helper", tools=[note], model=hitl.ScriptedModel([[hitl.call("note", text="Milk")], "Noted."])
)
boss = hitl.Agent(
    "boss",
    agents=[helper],
    model=hitl.ScriptedModel([[hitl.call("agent-helper", prompt="Note: milk")], "All noted."]),
)
asked = await boss.generate("Note: milk")
answered = await boss.approve_tool_call_generate(run_id=asked.run_id)

# %%
hitl.testing.check_exercise(
    "8",
    {
        "the question came up to the boss": lambda: (
            asked.requests[0].agent_path == ("boss", "helper")
        ),
        "the tool ran once, after your approval": lambda: len(notes) == 1,
        "the boss finished": lambda: answered.finish_reason == "stop",
    },
)
