"""The constraints of SONiC's YANG models that a fabric's tables meet, with libyang's texts."""
