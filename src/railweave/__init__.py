"""railweave: Infrastructure as Code for the Ethernet fabrics of GPU clusters.

The engine in this package is made of pure functions over typed values: no socket, no subprocess. Data flows one way:
intent -> design -> fabric -> device configuration -> artifacts, plans and reports.
"""

__version__ = "0.2.0"
