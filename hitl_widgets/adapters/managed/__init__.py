"""The rooms of the Managed Agents adapter; its front is `hitl_widgets.adapters.managed_agents`."""
