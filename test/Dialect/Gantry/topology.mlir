// The topology on a module: the short form, everything that is known, and one without links.

// RUN: gantry-opt %s -split-input-file | gantry-opt -split-input-file | FileCheck %s

// CHECK: gantry.topology = #gantry.topology<[<"CPU:0">, <"GPU:1">]>
module attributes {gantry.topology = #gantry.topology<[<"/device:CPU:0">, <"gpu:1">]>} {
}

// -----

// CHECK: #gantry.topology<[<"CPU:0">, <"GPU:0">, <"GPU:1">],
// CHECK-SAME: links = [{bandwidth = 2.500000e+10 : f64, from = 0 : i64, latency = 1.000000e-05 : f64, to = 1 : i64}]
// CHECK-SAME: logical = [{physical = 0 : i64}, {limit = 1073741824 : i64, physical = 1 : i64}, {limit = 2147483648 : i64, physical = 1 : i64}]
// CHECK-SAME: physical = [{driver = "host", name = "CPU:0"},
// CHECK-SAME: {bandwidth = 1.000000e+12 : f64, driver = "cuda", memory = 85899345920 : i64, model = "a card", name = "GPU:0", peak_flops = {bf16 = 1.000000e+14 : f64, f32 = 2.000000e+13 : f64}}]
module attributes {gantry.topology = #gantry.topology<[<"CPU:0">, <"GPU:0">, <"GPU:1">], {
  physical = [{name = "CPU:0", driver = "host"},
              {name = "GPU:0", driver = "cuda", model = "a card", memory = 85899345920,
               bandwidth = 1.0e12, peak_flops = {f32 = 2.0e13, bf16 = 1.0e14}}],
  logical = [{physical = 0}, {physical = 1, limit = 1073741824}, {physical = 1, limit = 2147483648}],
  links = [{from = 0, to = 1, bandwidth = 2.5e10, latency = 1.0e-5}]}>} {
}
