# %% [markdown]
# # 1 · Your first approval, without a server
#
# An agent wants to delete something. Before it may, **you** see exactly what it would run, and
# decide. Python runs inside this page: nothing is installed, nothing leaves it, and the model is
# a script. This takes five minutes.
#
# Run the cells one after the other (Shift+Enter). The first one takes some seconds.

# %%
%pip install -q hitl-widgets
import hitl_widgets as hitl

records = {"abc-123": "an old order", "xyz-789": "a customer"}


@hitl.tool(require_approval=True, effect="destructive")
async def delete_record(id: str) -> dict:
    """Delete a record by ID."""
    return {"deleted": records.pop(id)}


# %% [markdown]
# `require_approval=True` is the whole gate. The agent below plays a script: it proposes one
# call, and then says what it was told.

# %%
agent = hitl.Agent(
    "record-keeper",
    model=hitl.ScriptedModel(
        [
            ["I will delete the old order.", hitl.call("delete_record", id="abc-123")],
            lambda messages: f"I was told: {messages[-1].parts[-1].content}",
        ]
    ),
    tools=[delete_record],
)

# %% [markdown]
# Run the next cell. A card appears: the tool, its argument, why you are asked, and a
# **fingerprint** of exactly this call. Nothing has been deleted yet. Press **Approve**.
#
# In this page no click reaches Python while a cell runs, so the run is *started*: the cell ends
# at once, and the agent waits for you in the background.

# %%
first = agent.start("Delete the old order")

# %% [markdown]
# The tool ran once, and the model went on. Look:

# %%
assert first.done(), "decide on the card above first, then run this cell again"
result = await first
result.text

# %%
records

# %% [markdown]
# ## Saying no
#
# Now the agent wants to delete a customer. Press `⋯` (More actions) and **Decline with a
# reason…**: the model reads your reason.

# %%
careful = hitl.Agent(
    "record-keeper",
    model=hitl.ScriptedModel(
        [
            [hitl.call("delete_record", id="xyz-789")],
            lambda messages: f"I was told: {messages[-1].parts[-1].content}",
        ]
    ),
    tools=[delete_record],
)
second = careful.start("Delete the customer")

# %%
assert second.done(), "decide on the card above first, then run this cell again"
assert "xyz-789" in records, "the customer is still there if you declined"
(await second).text

# %% [markdown]
# ## What stays
#
# Every decision is kept: what was asked, who decided, when, after how long. Here it is kept in
# the page's memory and is gone with it. Where Python runs on a computer it is a file, which
# survives a restart, as does a card that nobody has decided yet.

# %%
hitl.history()

# %% [markdown]
# ## Exercises
#
# **1a.** Make a tool `archive_record(id)` that needs approval and moves a record from `records`
# to `archived`. **1b.** Let an agent call it for `"xyz-789"` (with `start`) and approve. Then run
# the check.

# %%
archived = {}

# your code here
# solution:
archived = {}


@hitl.tool(require_approval=True)
async def archive_record(id: str) -> str:
    """Archive a record by ID."""
    archived[id] = records.pop(id)
    return "archived"


archivist = hitl.Agent(
    "archivist",
    tools=[archive_record],
    model=hitl.ScriptedModel([[hitl.call("archive_record", id="xyz-789")], "Archived."]),
)
third = archivist.start("Archive the customer")

# %%
hitl.testing.check_exercise(
    "1",
    {
        "archive_record is a tool that needs approval": lambda: (
            archive_record.require_approval is True
        ),
        "the customer was archived after your approval": lambda: "xyz-789" in archived,
        "your decision is in the history": lambda: hitl.history()[-1]["tool"] == "archive_record",
    },
)
