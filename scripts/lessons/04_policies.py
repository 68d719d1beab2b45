# %% [markdown]
# # 4 · When to ask: conditions and policies
#
# A card for every call tires people, and tired people press Approve. This lesson asks only when
# it matters: by a function, for a whole run, for a group of tools. No network needed.

# %%
import hitl_widgets as hitl

paid = []


def over_100(call: hitl.ApprovalContext) -> bool:
    """Ask a person when the amount is above 100."""
    return call.args["amount"] > 100


@hitl.tool(require_approval=over_100)
async def refund(customer: str, amount: int) -> str:
    """Pay money back to a customer."""
    paid.append((customer, amount))
    return f"paid {amount} to {customer}"


# %% [markdown]
# ## A function decides whether to ask
#
# It gets the tool's name, the checked arguments, the user's own messages and more. The agent below
# proposes two refunds **at once**. Ada's 20 is paid without a question; Bob's 900 waits for you.
#
# Run the cell and **decline** Bob's refund with a reason.

# %%
clerk = hitl.Agent(
    "clerk",
    tools=[refund],
    model=hitl.ScriptedModel(
        [
            [
                hitl.call("refund", customer="Ada", amount=20),
                hitl.call("refund", customer="Bob", amount=900),
            ],
            "Done.",
        ]
    ),
)
await clerk.run("Refund Ada and Bob")
print("paid:", paid)

# %% [markdown]
# `hitl.explain` answers "would this call be asked about, and why?" without making it: a test of
# your policy that needs no model.

# %%
print(await hitl.explain(clerk, "refund", {"customer": "Cy", "amount": 100}))
print(await hitl.explain(clerk, "refund", {"customer": "Cy", "amount": 101}))

# %% [markdown]
# What if the function itself fails? Then a person is asked. A rule that cannot answer never means
# "go on".


# %%
def broken(call: hitl.ApprovalContext) -> bool:
    """Look up something that is not there."""
    return call.args["no such argument"] > 100


@hitl.tool(require_approval=broken)
async def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


payer = hitl.Agent("payer", tools=[pay], model=hitl.ScriptedModel(["Hello."]))
print(await hitl.explain(payer, "pay", {"amount": 1}))

# %% [markdown]
# ## Groups of tools
#
# A `Toolset` gives several tools one policy, with exceptions by name. Three things can be said:
# `"always_allow"`, `"always_ask"`, and `hitl.disabled`. And a tool with `effect="destructive"`
# asks unless you say otherwise.


# %%
@hitl.tool(effect="read")
async def list_files() -> list[str]:
    """List the files."""
    return ["a.txt", "b.txt"]


@hitl.tool
async def write_file(name: str, text: str) -> str:
    """Write a file."""
    return f"wrote {name}"


@hitl.tool(effect="destructive")
async def delete_file(name: str) -> str:
    """Delete a file."""
    return f"deleted {name}"


@hitl.tool
async def format_disk() -> str:
    """Erase everything."""
    return "gone"


files = hitl.Toolset(
    [list_files, write_file, delete_file, format_disk],
    configs={"write_file": "always_ask", "format_disk": hitl.disabled},
)
keeper = hitl.Agent("keeper", tools=[files], model=hitl.ScriptedModel(["Hello."]))
hitl.policy_table(keeper)

# %% [markdown]
# ## A whole run
#
# `require_tool_approval` belongs to the run. `True` asks about **every** call. A function is asked
# about tools that say nothing themselves. The strictest answer wins: deny, then ask, then allow.

# %%
hitl.policy_table(keeper, require_tool_approval=True)

# %% [markdown]
# The policy is **frozen into a run** when it starts: changing the agent changes later runs only,
# and nobody can slip past a waiting card by loosening a rule.
#
# ## Exercises
#
# **4a.** Make a tool `send_mail(to, text)` that asks a person unless the address ends in
# `@example.com`. Keep the condition as a function called `outside`.
# **4b.** Make an agent called `secretary` that has `send_mail` and `delete_file`, where
# `delete_file` is disabled.


# %%
# your code here
# solution:
def outside(call: hitl.ApprovalContext) -> bool:
    return not call.args["to"].endswith("@example.com")


@hitl.tool(require_approval=outside)
async def send_mail(to: str, text: str) -> str:
    """Send a mail."""
    return f"sent to {to}"


secretary = hitl.Agent(
    "secretary",
    tools=[hitl.Toolset([send_mail, delete_file], configs={"delete_file": hitl.disabled})],
    model=hitl.ScriptedModel(["Hello."]),
)


# %%
def mail(to):
    return hitl.ApprovalContext("send_mail", {"to": to, "text": "Hi"})


def permission(tool):
    return {row.tool_name: row.permission for row in hitl.policy_table(secretary).rows}[tool]


hitl.testing.check_exercise(
    "4",
    {
        "a mail to the outside is asked about": lambda: outside(mail("a@b.org")) is True,
        "so is one whose address only looks like it": lambda: (
            outside(mail("ada@example.com.evil.org")) is True
        ),
        "a mail inside is not": lambda: outside(mail("ada@example.com")) is False,
        "send_mail depends on its arguments": lambda: permission("send_mail") == "depends",
        "delete_file is disabled": lambda: permission("delete_file") == "deny",
    },
)
