"""A provider on loopback and a real SDK's model that talks to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from .provider import FORMATS, Provider

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(params=list(FORMATS))
def provider(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    """Each provider in turn."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    made = Provider(request.param)
    made.name = request.param  # type: ignore[attr-defined]
    yield made
    made.close()


@pytest.fixture
def model(provider: Provider) -> Any:
    """The SDK's model for this provider."""
    return model_of(provider.name, provider.url)  # type: ignore[attr-defined]


def model_of(name: str, url: str) -> Any:
    """A real SDK pointed at `url`."""
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.anthropic import AnthropicProvider
    from pydantic_ai.providers.google import GoogleProvider
    from pydantic_ai.providers.ollama import OllamaProvider
    from pydantic_ai.providers.openai import OpenAIProvider

    match name:
        case "openai-chat":
            provider: Any = OpenAIProvider(base_url=f"{url}/v1", api_key="k")
            return OpenAIChatModel("gpt-4o", provider=provider)
        case "openai-responses":
            provider = OpenAIProvider(base_url=f"{url}/v1", api_key="k")
            return OpenAIResponsesModel("gpt-4o", provider=provider)
        case "anthropic":
            provider = AnthropicProvider(base_url=url, api_key="k")
            return AnthropicModel("claude-test", provider=provider)
        case "gemini":
            provider = GoogleProvider(base_url=url, api_key="k")
            return GoogleModel("gemini-2.5-flash", provider=provider)
        case _:
            provider = OllamaProvider(base_url=f"{url}/v1")
            return OpenAIChatModel("qwen3", provider=provider)
