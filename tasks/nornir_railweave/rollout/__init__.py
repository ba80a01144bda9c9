"""Rollouts over a fabric: plan, deploy, resume and roll back, wave by wave, with their journals."""
