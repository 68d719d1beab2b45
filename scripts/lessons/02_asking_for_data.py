# %% [markdown]
# # 2 · Asking for data
#
# A tool sometimes needs something that only a human knows. Then a **form** appears in the cell,
# made from a type. This lesson shows the three ways to ask. No network needed.

# %%
from typing import Literal

from pydantic import BaseModel, Field

import hitl_widgets as hitl

# %% [markdown]
# ## Ask from a cell
#
# Any type will do: `int`, `list[str]`, a `Literal`, a pydantic model. What you get back is typed
# and checked: try a number of days above 14 and see what happens.


# %%
class Trip(BaseModel):
    city: str
    days: int = Field(3, ge=1, le=14, description="1 to 14")
    travel_by: Literal["train", "bus", "bike"]


trip = await hitl.ask(Trip, "Where are you going?")
trip

# %% [markdown]
# `confirm` asks for a yes or no. A model's words can never answer it; only a person can.

# %%
await hitl.confirm(f"Book {trip.days} days in {trip.city}?")

# %% [markdown]
# ## A tool that asks in the middle
#
# `ctx.ask` waits in place. If the kernel dies while the form is open, the tool runs again from the
# top once the answer is there, and `ctx.ask` gives the answer at once. So what should happen only
# once goes into `ctx.step`: it is not done again.


# %%
class City(BaseModel):
    city: str


@hitl.tool
async def get_weather(city: str | None = None, *, ctx: hitl.ToolContext) -> str:
    """Get the weather in a city; asks the user when no city is given."""
    if city is None:
        city = (await ctx.ask(City, "The weather in which city?")).city
    return await ctx.step("look it up", lambda: f"It is sunny in {city}.")


def repeat(messages):  # the model's last turn: what it was told
    return f"The tool says: {messages[-1].parts[-1].content}"


agent = hitl.Agent(
    "weather", tools=[get_weather], model=hitl.ScriptedModel([[hitl.call("get_weather")], repeat])
)
result = await agent.run("How is the weather?")
result.text

# %% [markdown]
# ## A tool that suspends
#
# `ctx.suspend` holds no coroutine: the run becomes rows in a file, and the tool runs again from
# the top when the answer is there, today or next week. `resume_schema` is the form, and
# `suspend_schema` what is shown above it. The second time `ctx.resume_data` holds the answer.


# %%
class Question(BaseModel):
    message: str
    options: list[str]


class Choice(BaseModel):
    option: Literal["red", "blue"]


@hitl.tool(suspend_schema=Question, resume_schema=Choice)
async def pick_colour(*, ctx: hitl.ToolContext) -> str:
    """Let the user pick a colour."""
    if ctx.resume_data is None:
        return await ctx.suspend(Question(message="Which colour?", options=["red", "blue"]))
    return f"You picked {ctx.resume_data.option}."


painter = hitl.Agent(
    "painter", tools=[pick_colour], model=hitl.ScriptedModel([[hitl.call("pick_colour")], repeat])
)
result = await painter.run("Paint it")
result.text

# %% [markdown]
# Nobody there? `generate` never asks: it ends `suspended`, and the answer can come from code.

# %%
out = await painter.generate("Paint it")
print(out.finish_reason, "-", out.suspend_payload.suspend_payload)
out = await painter.resume_generate({"option": "blue"}, run_id=out.run_id)
out.text

# %% [markdown]
# ## Exercises
#
# **2a.** Write a model `Person` with a `name` and an `age` from 0 to 150, ask for it, and keep the
# answer as `person` (`Field(ge=…, le=…)` as above). **2b.** Ask for a list of favourite numbers (`list[int]`) as `favourites`.


# %%
# your code here
# solution:
class Person(BaseModel):
    name: str
    age: int = Field(ge=0, le=150)


person = await hitl.ask(Person, "Who are you?")
favourites = await hitl.ask(list[int], "Your favourite numbers?")


# %%
def takes(age):
    try:
        return Person(name="Ada", age=age).age == age
    except ValueError:
        return False


def answers():
    return [row["decision"]["data"] for row in hitl.history() if row["verdict"] == "answer"]


hitl.testing.check_exercise(
    "2",
    {
        "Person takes an age from 0 to 150": lambda: takes(0) and takes(150),
        "and no other": lambda: not takes(-1) and not takes(151),
        "person was asked for": lambda: person.model_dump() in answers(),
        "favourites too, as a list of int": lambda: (
            favourites in answers() and all(type(n) is int for n in favourites)
        ),
    },
)
