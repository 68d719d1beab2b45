# %% [markdown]
# # 15 · A Managed Agents session, answered from a cell
#
# The agent runs at Anthropic; its tools ask, and wait there without limit until somebody answers.
# Here you are that somebody: the session's calls become cards in this notebook.
#
# This lesson needs no account and no network: `Double` is the service on your own machine, real
# HTTP and real event streams, with a script in place of the model.
#
#     pip install "hitl-widgets[managed-agents]"

# %%
import anthropic

import hitl_widgets as hitl
from hitl_widgets.adapters.managed.double import Double, custom, say, use
from hitl_widgets.adapters.managed_agents import attach

script = [
    [say("I will tidy up."), use("bash", command="rm -r build"), use("bash", command="rm -r src")],
    [custom("weather", city="Turin"), custom("opinion", about="src")],
    [say("build is gone, src is still here.")],
]

# %% [markdown]
# **For the real service change these two lines**: leave out the first, and write
# `client = anthropic.AsyncAnthropic()`. Everything below stays as it is.

# %%
double = Double(script).start()
client = anthropic.AsyncAnthropic(base_url=double.url, api_key=double.key)

# %% [markdown]
# An agent whose shell asks before every command (`always_ask`), and two custom tools: their
# results come from us.

# %%
TOOLS = [
    {
        "type": "agent_toolset_20260401",
        "default_config": {"permission_policy": {"type": "always_ask"}},
    },
    {
        "type": "custom",
        "name": "weather",
        "description": "The weather in a city.",
        "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
    {
        "type": "custom",
        "name": "opinion",
        "description": "What the user thinks.",
        "input_schema": {"type": "object", "properties": {"about": {"type": "string"}}},
    },
]
agent = await client.beta.agents.create(name="tidy", model="claude-sonnet-5", tools=TOOLS)
environment = await client.beta.environments.create(name="lesson")
session = await client.beta.sessions.create(agent=agent.id, environment_id=environment.id)

# %% [markdown]
# `attach` shows the session here and answers for it. A custom tool is a function that runs in this
# notebook (`weather`); one that is not given gets a form (`opinion`).


# %%
def weather(city: str) -> str:
    """The weather in a city."""
    return f"sunny in {city}"


live = attach(client, session.id, custom_tools={"weather": weather})
await live.send("Tidy up, please.")

# %% [markdown]
# Two calls wait at once. **Approve** the first; give the second **Decline with a reason…**: the
# agent reads it. There is no *Edit* and no *Always allow*: the service can not take them, so they
# are not offered. After that a form asks for your opinion; type anything.
#
# `until_idle` waits for you, and returns why the session stopped.

# %%
await live.until_idle()

# %% [markdown]
# What really ran at the service:

# %%
[given["command"] for _tool, given in double.session(session.id).ran]

# %% [markdown]
# ## A rule instead of a card
#
# `decide=` answers by rule, and leaves to you what it does not know (`None`). In the record such a
# decision stands under the rule's own name, never as a click.


# %%
def only_listing(request: hitl.Request) -> hitl.Approve | hitl.Decline | None:
    """Let a listing through; refuse the rest."""
    if request.args.get("command", "").startswith("ls"):
        return hitl.Approve()
    return hitl.Decline("Only ls is allowed here.")


other = double.new_session(
    TOOLS, turns=[[use("bash", command="ls"), use("bash", command="rm -r src")], [say("Listed.")]]
)
async with attach(client, other.id, decide=only_listing) as second:
    print(await second.until_idle())

[(r["tool"], r["verdict"], r["reviewer"].rsplit(".")[-1]) for r in hitl.history()][-2:]

# %% [markdown]
# ## After a restart
#
# Restart the kernel while a card waits, and attach again: the card is back, because what waits is
# read from the session's events. This machine's store keeps the record, the service keeps the
# session. `watch(client)` follows every session that waits, and `webhook(payload, headers, key)`
# turns a delivery of the service into "go and look".

# %% [markdown]
# ## Exercises
#
# **15a.** Write a rule `no_source(request)` that approves a command that does not hold `src`, and
# declines one that does, with a reason. **15b.** Attach to the session `third` with your rule, wait
# for it with `until_idle`, and keep why it stopped as `stopped`.

# %%
third = double.new_session(
    TOOLS,
    turns=[
        [use("bash", command="ls build"), use("bash", command="cat src/main.py")],
        [say("Looked.")],
    ],
)

# your code here
# solution:
third = double.new_session(
    TOOLS,
    turns=[
        [use("bash", command="ls build"), use("bash", command="cat src/main.py")],
        [say("Looked.")],
    ],
)


def no_source(request):
    if "src" in request.args.get("command", ""):
        return hitl.Decline("The sources are private.")
    return hitl.Approve()


async with attach(client, third.id, decide=no_source) as watched:
    stopped = await watched.until_idle()

# %%
hitl.testing.check_exercise(
    "15",
    {
        "the session came to its end": lambda: stopped == "end_turn",
        "only the listing ran": lambda: [a["command"] for _, a in third.ran] == ["ls build"],
        "the record names your rule": lambda: "no_source" in hitl.history()[-1]["reviewer"],
    },
)

# %%
await live.close()
await client.close()
double.close()
