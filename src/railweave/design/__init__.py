"""Design mathematics: from an intent to a fabric in which every number is explained."""
