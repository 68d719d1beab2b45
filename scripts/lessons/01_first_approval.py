# %% [markdown] only="page"
# # 1 · Your first approval, without a server
#
# An agent wants to delete something. Before it may, **you** see exactly what it would run, and
# decide. Python runs inside this page: nothing is installed, nothing leaves it, and the model is
# a script. This takes five minutes.
#
# Run the cells one after the other (Shift+Enter). The first one takes some seconds.

# %% [markdown] only="kernel"
# # 1 · Your first approval
#
# An agent wants to delete something. Before it may, **you** see exactly what it would run, in
# the cell, and decide. This takes five minutes and needs no network: the model is a script.
#
# Run the cells from top to bottom (Shift+Enter; after a click on a card, click the next cell first).
# What already stands under them is from an earlier run, in which a script decided; yours takes its
# place.

# %%
import hitl_widgets as hitl

records = {"abc-123": "an old order", "xyz-789": "a customer"}


@hitl.tool(require_approval=True, effect="destructive")
async def delete_record(id: str) -> dict:
    """Delete a record by ID."""
    return {"deleted": records.pop(id)}


# %% [markdown]
# `require_approval=True` is the whole gate. `effect=` is what you say the tool does: the card shows
# it ("effect unknown" if you say nothing), and `"destructive"` alone would have asked, too.
#
# The agent below plays a script of two turns: it proposes one call, and then repeats the last thing
# it was told, which is what the tool gave.

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

# %% [markdown] only="page"
# In this page no click reaches Python while a cell runs, so the run is *started*: the cell ends
# at once, and the agent waits for you in the background.

# %% only="page"
first = agent.start("Delete the old order")

# %% only="kernel"
result = await agent.run("Delete the old order")
result.text

# %% [markdown] only="page"
# The tool ran once, and the model went on. Look:

# %% only="page"
assert first.done(), "decide on the card above first, then run this cell again"
result = await first
result.text

# %% [markdown] only="kernel"
# The cell waited for you, the tool ran once, and the model went on. In the card's place stands its
# record: plain text that is saved with the notebook. And the old order? Look:

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

# %% only="page"
second = careful.start("Delete the customer")

# %% only="page"
assert second.done(), "decide on the card above first, then run this cell again"
result = await second
result.text

# %% only="kernel"
result = await careful.run("Delete the customer")
result.text

# %%
assert "xyz-789" in records, "approved by mistake? Run the first cell again, then the one above"

# %% [markdown] only="page"
# ## What stays
#
# Every decision is kept: what was asked, who decided, when, after how long. Here it is kept in
# the page's memory and is gone with it. Where Python runs on a computer it is a file, which
# survives a restart, as does a card that nobody has decided yet.

# %% [markdown] only="kernel"
# ## What stays
#
# Every decision is kept: what was asked, who decided, when, after how long. It survives a
# restart of the kernel, and so does a card that nobody has decided yet: `hitl.inbox()` shows it, and
# once the agent is defined again its run goes on from there (lesson 7).

# %%
hitl.history()

# %% [markdown]
# ## Exercises
#
# **1a.** Make a tool `archive_record(id)` that needs approval and moves a record from `records`
# to `archived`. **1b.** Let an agent call it for `"xyz-789"` and approve. Then run the check.

# %% [markdown] only="page"
# In this page: with `start` again.

# %% [markdown] only="kernel"
# Every lesson ends with two exercises; solutions are in the folder `solutions`.

# %%
archived = {}
records["xyz-789"] = "a customer"  # back again, however often you run this cell

# your code here
# solution:
archived = {}
records["xyz-789"] = "a customer"  # back again, however often you run this cell


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
await archivist.run("Archive the customer")

# %%
hitl.testing.check_exercise(
    "1",
    {
        "archive_record is a tool that needs approval": lambda: (
            archive_record.require_approval is True
        ),
        "the customer was archived": lambda: "xyz-789" in archived,
        "you approved it, and it ran": lambda: any(
            row["tool"] == "archive_record" and row["state"] == "done" for row in hitl.history()
        ),
    },
)
