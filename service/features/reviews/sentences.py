"""The sentences of refusals and faults of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "review_by_key": "Only people decide in reviews: an API key can't",
        "no_such_review": "There is no such review",
        "no_such_item": "The review has no such item",
        "sign_off_not_allowed": "You may not sign this revision off",
        "no_sign_off": "You have signed no revision off: name one",
        "no_such_sign_off": "There is no such user, or no sign-off of theirs",
        "days_out_of_range": "must be from 1 to {most}",
        "no_such_assignment": "There is no such assignment",
        "too_many_assignments": "It has more than {most} assignments: narrow it",
        "item_not_decidable": "You are not allowed to decide about this assignment",
        "review_closed": "The review is closed",
        "review_in_state": "The review is {state}",
        "item_twice": "Give each item once",
        "item_done": "The assignment is {outcome}",
        "review_extends": "A review can shorten an assignment, but not extend it",
        "closing_not_allowed": "You are not allowed to close this review",
        "outcome_ended": "The assignment has already ended",
        "outcome_ends_before": "The assignment already ends before that time",
        "outcome_over": "The new end was in the past or not after the start, so the assignment ended at once",
        "outcome_same": "Another assignment of the role has the same start and end",
        "sign_off_not_allowed_since": "You may not sign this revision off: {why}",
        "item_not_decidable_since": "You are not allowed to decide about this assignment: {why}",
        "end_only_for_shortening": "An end is required for shortening, and not allowed otherwise",
        "not_after_deadline": "must be after the deadline of the review: decisions are applied when it "
        "closes",
        # Findings
        "review_named": "{title} (review {review})",
        "items_of_review": "{review}: {count, plural, one {# item} other {# items}}",
        "reviews_under_way": "{count, plural, one {# review} other {# reviews}} under way, and each item "
        "has an eligible reviewer",
        "reviews_not_closed": "over, but not closed: {reviews}",
        "reviews_without_reviewer": "no eligible reviewer: {reviews}",
        "unblock_reviews": "check the job review-ends; grant other people the codes of the review, or edit "
        "the roles by hand",
        "uses_unknown": "not known yet: uses are recorded, and this check covers {days} days",
        "uses_unknown_before": "not known yet: uses are recorded since {since}, and this check covers "
        "{days} days",
        "no_unused_right": "all users with a role and all API keys were active within {days} days",
        "unused_rights": "{assignments, plural, one {# assignment} other {# assignments}} of users who have "
        "used nothing for {days} days, and {keys, plural, one {# API key} other {# API keys}} unused for as "
        "long",
        "revoke_unused": "portcullis policy unused lists them; revoke them",
        "no_review_over": "no review is over",
        "reviews_closed": "{closed} of {due} reviews closed",
        "reviews_settled": "{closed}, reviewers of {reminded} reminded",
        "cause_review_begun": "review begun with reviewers of {code}",
    }
)
