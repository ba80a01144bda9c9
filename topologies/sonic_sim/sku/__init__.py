"""What the templates of QoS and buffers in an image make of a configuration, SKU by SKU."""
