# %% [markdown]
# # 7 · Restart and resume
#
# Kernels die: out of memory, a closed laptop, an update at night. A question that waited for you
# must not die with them, and nothing may run twice because of it. In this lesson processes are
# killed the hardest way, and you go on. No network needed, and your files are safe.

# %%
import subprocess
import sys
import textwrap

import hitl_widgets as hitl

# %% [markdown]
# ## An agent that two processes define
#
# A run finds its agent again **by its id**. So the definition below is kept as text: this
# notebook runs it, and so does a second Python process that we are going to kill. In your own
# work, put the definition into a module, or simply run its cell again.

# %%
DEFINITION = textwrap.dedent(
    '''
    import hitl_widgets as hitl

    @hitl.tool(require_approval=True)
    async def publish(report: str) -> str:
        """Publish a report."""
        return f"published {report}"

    publisher = hitl.Agent(
        "publisher",
        tools=[publish],
        model=hitl.ScriptedModel([
            [hitl.call("publish", report="Q3")],
            lambda messages: f"I was told: {messages[-1].parts[-1].content}",
        ]),
    )
    '''
)
exec(DEFINITION)

# %% [markdown]
# ## A process starts the run and dies
#
# The second process starts the run and then kills itself with the signal that no program can
# catch. On Linux and macOS the number printed is -9: killed.

# %%
START = """
import asyncio, os, signal
async def main():
    run = await publisher.generate("Publish the report")
    print(run.finish_reason, flush=True)
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
asyncio.run(main())
"""
died = subprocess.run(
    [sys.executable, "-c", DEFINITION + START], capture_output=True, text=True, check=False
)
print(died.stdout, died.returncode)

# %% [markdown]
# Before a question is shown or reported, it is in the store, on disk. So this kernel, which never
# started that run, finds it. `hitl.inbox()` shows the same as cards.

# %%
waiting = await publisher.list_suspended_runs()
[(call.tool_name, call.args, call.state) for call in waiting[-1].tool_calls]

# %% [markdown]
# `attach` goes on with a run, wherever it began. A card appears: **approve** it.

# %%
result = await publisher.attach(waiting[-1].run_id)
result.text

# %% [markdown]
# ## Dying in the middle of a tool
#
# Harder: the process dies **while the tool runs**. Was the mail sent? Nobody can know from here.
# Many systems just run it again. Here nothing runs again by itself: the call's outcome is
# *unknown*, and a person says what happened.

# %%
MAILER = textwrap.dedent(
    '''
    import os
    import hitl_widgets as hitl
    from hitl_widgets.testing import AutoApprove

    die = False

    @hitl.tool(require_approval=True)
    async def send_mail(to: str) -> str:
        """Send a mail."""
        if die:
            os._exit(1)  # the machine goes down, somewhere in the middle
        return "sent"

    mailer = hitl.Agent(
        "mailer",
        tools=[send_mail],
        model=hitl.ScriptedModel([
            [hitl.call("send_mail", to="ada@example.com")],
            lambda messages: f"I was told: {messages[-1].parts[-1].content}",
        ]),
    )
    '''
)
exec(MAILER)

CRASH = """
import asyncio
die = True
async def main():
    with hitl.reviewer(AutoApprove()):
        await mailer.run("Mail Ada")
asyncio.run(main())
"""
subprocess.run([sys.executable, "-c", MAILER + CRASH], capture_output=True, check=False)
lost = [r for r in await hitl.pending(agent_id="mailer") if r.state == "outcome_unknown"][-1]
print(lost.tool_name, lost.args, lost.state)

# %% [markdown]
# You look into the mailbox: the mail is there. Say so, with the result that the tool would have
# given. (Otherwise: `"run_again"` asks anew, `"give_up"` tells the model that it failed.)

# %%
await hitl.settle(lost, "happened", "sent")
result = await mailer.attach(lost.run_id)
result.text

# %% [markdown]
# ## Kill your own kernel
#
# Now with this very notebook. Remove the `#` in the last line of the next cell and run it. Jupyter
# says that the kernel died and starts a new one; **no file is touched, only this notebook's
# variables are gone**. Then put the `#` back, run the notebook's first two code cells and the cell
# below again: the run that waited is still there, and nothing is asked twice.

# %%
if not await publisher.list_suspended_runs():
    await publisher.generate("Publish the report once more")

# import os; os._exit(1)

# %%
waiting = await publisher.list_suspended_runs()
print(len(waiting), "run waits for:", waiting[-1].tool_calls[-1].tool_name)

# %% [markdown]
# There is a shorter way for cells that you run again and again: `await agent.run(…, key="q3")`.
# While that run is unfinished, the same key attaches to it.
#
# ## Exercises
#
# **7a.** Decline the run that still waits from code, with a reason
# (`publisher.decline_tool_call_generate(run_id=…, reason=…)`), and keep the result as `ended`.
# **7b.** Now nothing may wait for the publisher any more: keep what
# `publisher.list_suspended_runs()` gives as `left`.

# %%
# your code here
# solution:
ended = await publisher.decline_tool_call_generate(
    run_id=waiting[-1].run_id, reason="The numbers are not final."
)
left = await publisher.list_suspended_runs()

# %%
hitl.testing.check_exercise(
    "7",
    {
        "the model read your reason": lambda: (
            "Their reason:" in ended.text and ended.finish_reason == "stop"
        ),
        "nothing waits any more": lambda: left == [],
    },
)
