# %% [markdown]
# # 3 · Plain functions and DataFrames
#
# You need no agent to put a human before a function. `@hitl.require_approval` gates any function;
# its signature stays as it is, so it can be handed to any framework as a tool.
#
#     pip install "hitl-widgets[pandas]"

# %%
import pandas as pd

import hitl_widgets as hitl

orders = pd.DataFrame(
    {
        "order": [101, 102, 103, 104],
        "customer": ["Ada", "Bob", "Ada", "Cy"],
        "status": ["stale", "paid", "stale", "paid"],
    }
)


@hitl.require_approval(effect="destructive")
async def delete_rows(rows: pd.DataFrame) -> int:
    """Delete these rows from the table."""
    global orders
    orders = orders.drop(rows.index)
    return len(rows)


# %% [markdown]
# The card shows **the rows that would be deleted**, not a description by a model. Their content is
# part of the fingerprint: if the rows change while the card waits, your approval does not count
# for the new ones, and you are asked again with the difference.
#
# Press **Approve**.

# %%
await delete_rows(orders[orders["status"] == "stale"])

# %%
orders

# %% [markdown]
# ## A preview of what would happen
#
# Often the arguments do not hold the rows, but a condition. `preview=` is a function of the arguments
# that only **looks**: what it returns stands on the card, above the buttons. `reads=("orders",)` binds
# the table itself to your approval: if it changes while the card waits, the call does not run, and a
# new card says what changed.
#
# Read the preview, then press **Approve**.


# %%
def rows_of(customer: str) -> pd.DataFrame:
    return orders[orders["customer"] == customer]


@hitl.require_approval(effect="destructive", preview=rows_of, reads=("orders",))
async def delete_customer(customer: str) -> int:
    """Delete all orders of a customer."""
    global orders
    gone = rows_of(customer)
    orders = orders.drop(gone.index)
    return len(gone)


await delete_customer("Bob")

# %% [markdown]
# ## What a "no" looks like to the caller
#
# `hitl.Declined` is raised, and the function does not run. Press **Decline** (or decline with a
# reason) on this one.

# %%
try:
    await delete_rows(orders)
except hitl.Declined as declined:
    print("Declined:", declined.reason or "no reason was given")

len(orders)

# %% [markdown]
# ## Secrets
#
# `secret=` names arguments by JSON Pointer, so `"/api_key"`. A secret takes part in the fingerprint
# and is never shown, stored in the record or given to a model. (Here it stands in the cell; read
# yours from the environment.) Press **Approve**.


# %%
@hitl.require_approval(secret=("/api_key",))
async def publish(report: str, api_key: str) -> str:
    """Publish a report."""
    return f"published {report}"


await publish("Q3", api_key="sk-not-for-your-eyes")

# %% [markdown]
# ## The record
#
# What was asked, who decided, how long it took. `hitl.history(as_frame=True)` is a DataFrame.

# %%
hitl.history(as_frame=True)[["tool", "verdict", "state", "seconds"]].tail(3)

# %% [markdown]
# ## Exercises
#
# **3a.** Gate a function `double(numbers: list[int])` that returns each number doubled, call it with
# `[1, 2, 3]`, approve, and keep what it gives as `doubled`. **3b.** Call it again and give a result
# without running it: choose `⋯`, then *Respond instead…*, and type `[0]`; keep it as `answered`.


# %%
# your code here
# solution:
@hitl.require_approval
async def double(numbers: list[int]) -> list[int]:
    return [2 * n for n in numbers]


doubled = await double([1, 2, 3])
answered = await double([1, 2, 3])

# %%
hitl.testing.check_exercise(
    "3",
    {
        "double ran once you approved": lambda: doubled == [2, 4, 6],
        "you answered in its place": lambda: answered == [0],
        "the record tells them apart": lambda: (
            {r["state"] for r in hitl.history() if r["tool"] == "double"} >= {"done", "responded"}
        ),
    },
)
