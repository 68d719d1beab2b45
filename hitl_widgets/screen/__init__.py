"""What a person sees: cards, panels, the inbox, and the record that stays in a notebook."""
