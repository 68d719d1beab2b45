# %% [markdown]
# # 6 · Editing, declining well, responding
#
# Between yes and no there are better answers. This lesson shows what the model hears in each case:
# always the truth. No network needed.

# %%
import hitl_widgets as hitl

mails = []


@hitl.tool(require_approval=True)
async def send_mail(to: str, subject: str, text: str) -> str:
    """Send a mail."""
    mails.append({"to": to, "subject": subject, "text": text})
    return "sent"


def told(messages):
    """Repeat what the model was told about its last call."""
    return str(messages[-1].parts[-1].content)


def writer(*turns):
    return hitl.Agent("writer", tools=[send_mail], model=hitl.ScriptedModel([*turns, told]))


draft = hitl.call("send_mail", to="all@example.com", subject="Party", text="Free beer!!!")

# %% [markdown]
# ## Edit
#
# Nearly right? Press `⋯` (More actions) and **Edit arguments…**, change the recipient to
# `team@example.com`, look at the difference, and approve. Your version is checked like the
# model's, and the whole policy is asked again about it.

# %%
result = await writer([draft]).run("Invite everyone")
print(mails[-1]["to"])
print(result.text)

# %% [markdown]
# The model was told that a person changed its arguments, from what to what. Agents that are not
# told keep believing their own version, and build the next step on it.
#
# ## Decline, with a reason
#
# A bare no teaches nothing: many models just try again. A reason is an instruction. Decline the
# next one **with a reason**, such as *Wait until Friday.*

# %%
result = await writer([draft]).run("Invite everyone")
print(result.text)

# %% [markdown]
# What if the model insists? A call that was declined before says so on its card, and after three
# declines of exactly the same call the run ends by itself. **Decline** all three.

# %%
stubborn = writer([draft], [draft], [draft], [draft])
result = await stubborn.run("Invite everyone")
print(result.finish_reason)

# %% [markdown]
# *Decline and stop the run* does it at once.
#
# ## Approve with a note
#
# Yes, and something the model should know. Choose **Approve with a note…** and write *Only this
# once.*

# %%
result = await writer([draft]).run("Invite everyone")
print(result.text)

# %% [markdown]
# ## Respond instead
#
# The tool does not run at all; you give its result yourself. Useful for tests, for a service that
# is down, or when you have done it by hand. Choose **Respond instead…** and give `"sent by hand"`.

# %%
count = len(mails)
result = await writer([draft]).run("Invite everyone")
print(result.text, "- mails sent by the tool:", len(mails) - count)

# %% [markdown]
# From code the same four are `hitl.Approve(args=…, note=…)`, `hitl.Decline(reason, stop=…)`,
# `hitl.Answer(data)` and `hitl.Respond(result)`. `None`, `"no"` or `True` are no decisions: they
# are errors, never a yes.
#
# ## Exercises
#
# **6a.** `waiting` below is a run that waits. Approve it from code with the subject changed to
# `"Summer party"` (give all three arguments), and keep the result as `edited`.
# **6b.** `other` waits too. Decline it so that its run stops, and keep the result as `stopped`.

# %%
agent = writer([draft])
waiting = await agent.generate("Invite everyone")
other = await agent.generate("Invite everyone")

# your code here: agent.approve_tool_call_generate(…), agent.decline_tool_call_generate(…)
# solution:
agent = writer([draft])
waiting = await agent.generate("Invite everyone")
other = await agent.generate("Invite everyone")

better = {"to": "all@example.com", "subject": "Summer party", "text": "Free beer!!!"}
edited = await agent.approve_tool_call_generate(run_id=waiting.run_id, args=better)
stopped = await agent.decline_tool_call_generate(run_id=other.run_id, reason="No.", stop=True)

# %%
hitl.testing.check_exercise(
    "6",
    {
        "the mail went out with your subject": lambda: mails[-1]["subject"] == "Summer party",
        "the model knows that you changed it": lambda: "human_changed_arguments" in edited.text,
        "the other run stopped": lambda: stopped.finish_reason == "declined",
    },
)
