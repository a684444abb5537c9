scontrol show reservation
