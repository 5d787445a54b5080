from service.features.follower.library import AtLeast as AtLeast
from service.features.follower.library import DecisionPoint as DecisionPoint
from service.features.follower.library import PdpSettings as PdpSettings
from service.features.follower.library import decision_point as decision_point
from service.features.follower.library import point_of as point_of
