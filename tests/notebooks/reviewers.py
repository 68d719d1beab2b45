"""What a student decides in each lesson, as reviewers for HITL_REVIEWER."""

from __future__ import annotations

import hitl_widgets as hitl
from hitl_widgets.testing import scripted

lesson_01 = scripted(hitl.Approve(), hitl.Decline("Keep the customer."))
lesson_02 = scripted(
    hitl.Answer({"city": "Oslo", "days": 2, "travel_by": "train"}),
    hitl.Approve(),
    hitl.Answer({"city": "Turin"}),
    hitl.Answer({"option": "red"}),
)
lesson_03 = scripted(hitl.Approve(), hitl.Decline("Keep them."), hitl.Approve())
