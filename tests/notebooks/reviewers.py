"""What a student decides in each lesson, as reviewers for HITL_REVIEWER."""

from __future__ import annotations

import hitl_widgets as hitl
from hitl_widgets.testing import scripted

lesson_01 = scripted(hitl.Approve(), hitl.Decline("Keep the customer."))
