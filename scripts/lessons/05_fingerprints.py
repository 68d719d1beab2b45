# %% [markdown]
# # 5 · Reading a fingerprint
#
# A yes must hold for exactly what you saw, and for nothing else. Every card therefore shows a
# **fingerprint**: a short name for the tool and all of its arguments. In this lesson somebody
# changes a call after you looked at it, and the change is caught. No network needed.

# %%
import hitl_widgets as hitl

sent = []


@hitl.tool(require_approval=True)
async def transfer(to: str, amount: int) -> str:
    """Transfer money."""
    sent.append((to, amount))
    return f"sent {amount} to {to}"


def bank(*turns):
    """An agent that plays these turns."""
    return hitl.Agent("bank", tools=[transfer], model=hitl.ScriptedModel([*turns]))


def pay(to, amount):
    return [hitl.call("transfer", to=to, amount=amount)]


# %% [markdown]
# ## The same call has the same fingerprint
#
# `generate` never asks; it stops where a person is needed and gives us the request to look at.
# The order of the arguments does not matter. One character does, even one that your eyes cannot
# tell apart: the last name below begins with a Cyrillic А.

# %%
honest = (await bank(pay("Ada", 50)).generate("Pay Ada")).requests[0]
again = (await bank(pay("Ada", 50)).generate("Pay Ada")).requests[0]
lookalike = (await bank(pay("\u0410da", 50)).generate("Pay Ada")).requests[0]

for request in (honest, again, lookalike):
    print(request.short_fingerprint, request.args)

# %% [markdown]
# ## Which part differs?
#
# Beside the whole there is a small digest for every argument. Two calls can be compared by those
# alone, without showing a value; secrets can be compared this way too. The card draws it: the
# strip under the fingerprint has a cell per argument, and *Compare* marks the changed ones.

# %%
from hitl_widgets.fingerprint import diff

diff(honest.digests, lookalike.digests)

# %% [markdown]
# ## Somebody changes a call after you looked
#
# Here is a waiting transfer. Its fingerprint is what you would see on the card.

# %%
victim = bank(pay("Ada", 50), "Done.")
waiting = await victim.generate("Pay Ada 50")
seen = waiting.requests[0].fingerprint
print(waiting.requests[0].short_fingerprint, waiting.requests[0].args)

# %% [markdown]
# Now an intruder (or a bug) edits the stored call, behind everybody's back.

# %%
import json
import sqlite3
from contextlib import closing

with closing(sqlite3.connect(victim.store.location)) as db, db:
    db.execute(
        "UPDATE calls SET args = ? WHERE run_id = ?",
        (json.dumps({"to": "Mallory", "amount": 5000}), waiting.run_id),
    )

# %% [markdown]
# You approve what you saw. The call is compared once more, by the process that is about to run it:

# %%
try:
    await victim.approve_tool_call(run_id=waiting.run_id, fingerprint=seen)
except hitl.StaleFingerprint as stale:
    print("Not run. What differs:", stale.diff)

print("sent:", sent)

# %% [markdown]
# Your approval is spent on nothing, and a **new** request opened with the difference marked. It
# shows as a card here. Look at it, and **decline** it: you never wanted to pay Mallory.

# %%
result = await victim.attach(waiting.run_id)
print(result.text, sent)

# %% [markdown]
# The record tells the story: the first request is `stale`, the second `declined`.

# %%
[(row["args"]["to"], row["verdict"], row["state"]) for row in hitl.history()][-2:]

# %% [markdown]
# ## Exercises
#
# **5a.** `first` and `second` below are two waiting calls. Which arguments changed? Put the JSON
# Pointers into a list called `changed` (use `diff`).
# **5b.** Approve `first` with a wrong fingerprint (any text) and keep the error as `refusal`.

# %%
shop = bank(pay("Shop", 10), "Done.")
first_run = await shop.generate("Pay the shop")
first = first_run.requests[0]
second = (await bank(pay("Shop", 1000)).generate("Pay the shop")).requests[0]

# your code here
# solution:
shop = bank(pay("Shop", 10), "Done.")
first_run = await shop.generate("Pay the shop")
first = first_run.requests[0]
second = (await bank(pay("Shop", 1000)).generate("Pay the shop")).requests[0]

changed = diff(first.digests, second.digests)["changed"]
try:
    await hitl.decide(first, hitl.Approve(), fingerprint="hf1:somethingelse")
except hitl.StaleFingerprint as error:
    refusal = error

# %%
hitl.testing.check_exercise(
    "5",
    {
        "only the amount changed": lambda: changed == ["/amount"],
        "a wrong fingerprint is refused": lambda: isinstance(refusal, hitl.StaleFingerprint),
        "and nothing was sent": lambda: sent == [],
    },
)
