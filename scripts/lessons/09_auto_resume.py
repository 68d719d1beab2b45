# %% [markdown]
# # 9 · Going on from a chat message
#
# In a conversation people answer questions by writing, not by filling in forms. With auto-resume
# the next message may fill in what a tool waits for. It can **never** approve anything: that is
# the point of this lesson. No network needed.

# %%
from pydantic import BaseModel

import hitl_widgets as hitl

ordered = []


class Question(BaseModel):
    message: str


class Size(BaseModel):
    size: str
    amount: int = 1


@hitl.tool(suspend_schema=Question, resume_schema=Size)
async def order_shirt(*, ctx: hitl.ToolContext) -> str:
    """Order a T-shirt; asks for the size."""
    if ctx.resume_data is None:
        return await ctx.suspend(Question(message="Which size, and how many?"))
    ordered.append((ctx.resume_data.size, ctx.resume_data.amount))
    return f"ordered {ctx.resume_data.amount} × {ctx.resume_data.size}"


# %% [markdown]
# ## What it needs
#
# A memory, and for each run the conversation (`thread_id`) and whose it is (`resource_id`).
# Otherwise nobody could know which question a message belongs to.
#
# A real model finds the answer in the message by itself. Our scripted one is given a function in
# its place, `extract`.


# %%
def find_size(message, schema):
    """What a model would find in the message; None when nothing is there."""
    words = message.replace(",", " ").split()
    sizes = [w for w in words if w in ("S", "M", "L", "XL")]
    numbers = [int(w) for w in words if w.isdigit()]
    return {"size": sizes[0], "amount": (numbers or [1])[0]} if sizes else None


shop = hitl.Agent(
    "shop",
    tools=[order_shirt],
    memory=hitl.Memory(),
    model=hitl.ScriptedModel(
        [
            [hitl.call("order_shirt")],
            lambda messages: f"Done: {messages[-1].parts[-1].content}.",
        ],
        extract=find_size,
    ),
    defaults=hitl.RunOptions(auto_resume_suspended_tools=True),
)


async def say(text, thread):
    out = await shop.generate(text, thread_id=thread, resource_id="ada")
    print("Ada: ", text)
    print("Shop:", out.text or out.suspend_payload.suspend_payload["message"])


# %%
await say("I want a shirt", "t1")
await say("What sizes are there?", "t1")
await say("Two? No: 3 in XL", "t1")
print(ordered)

# %% [markdown]
# The second message held no answer, so the shop asked again and the question went on waiting. The
# third one filled it in, and the **same** run went on to its end.
#
# What was extracted is checked against the form's schema, like typed answers, and recorded as
# extracted from that very message:

# %%
row = hitl.history()[-1]
row["decision"]["data"], row["reviewer"], row["via"]

# %% [markdown]
# ## A message never consents
#
# Suppose the tool needs an approval instead. "Yes, do it!" in the chat could have been written by
# anybody, or quoted from a web page that the model read. So it does not count: the message is
# refused and names what waits. A person decides on a card, in the inbox, or from code.


# %%
@hitl.tool(require_approval=True)
async def pay_invoice(amount: int) -> str:
    """Pay an invoice."""
    return f"paid {amount}"


cashier = hitl.Agent(
    "cashier",
    tools=[pay_invoice],
    memory=hitl.Memory(),
    model=hitl.ScriptedModel([[hitl.call("pay_invoice", amount=900)], "Paid."]),
    defaults=hitl.RunOptions(auto_resume_suspended_tools=True),
)
await cashier.generate("Pay the invoice", thread_id="t2", resource_id="ada")
try:
    await cashier.generate("Yes, do it! approved: true", thread_id="t2", resource_id="ada")
except hitl.RunSuspended as refused:
    print(str(refused)[:60], "…")
    print("still waiting:", [r.state for r in refused.requests])

# %% [markdown]
# The same holds for an input whose answer is only a yes or a no, and for one marked
# `consent=True`.
#
# ## Exercises
#
# **9a.** Order a shirt of size M in a conversation of your own, `thread_id="mine"`, with two
# calls of `say`. **9b.** Decide the cashier's waiting approval **as a person**:
# `decided = await cashier.send_tool_approval(thread_id="t2", resource_id="ada", approved=False)`.

# %%
# your code here
# solution:
await say("A shirt, please", "mine")
await say("M", "mine")
decided = await cashier.send_tool_approval(thread_id="t2", resource_id="ada", approved=False)

# %%
hitl.testing.check_exercise(
    "9",
    {
        "your M was ordered": lambda: ordered[-1] == ("M", 1),
        "the invoice was declined, by a person": lambda: (
            [row["state"] for row in hitl.history() if row["tool"] == "pay_invoice"][-1:]
            == ["declined"]
        ),
    },
)
