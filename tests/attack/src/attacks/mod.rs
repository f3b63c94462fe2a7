//! Every attack, one file each, named after what must hold.

use crate::attack::Attack;

mod a_daemon_does_not_survive_a_timeout;
mod a_daemon_does_not_survive_the_command;
mod a_device_in_a_shown_tree_takes_no_request;
mod a_device_node_in_a_shown_tree_is_dead;
mod a_directory_as_stdin_does_not_open_the_host;
mod a_directory_passed_in_opens_nothing;
mod a_directory_passed_in_shows_no_file;
mod a_disk_filler_is_bounded;
mod a_failed_apply_leaves_no_half_of_it;
mod a_flood_of_denials_does_not_wear_the_observer_out;
mod a_forged_mark_in_a_layer_reveals_nothing;
mod a_fork_bomb_is_bounded;
mod a_git_redirect_is_gone_after_a_timeout;
mod a_git_redirect_is_gone_after_the_run;
mod a_git_redirect_is_gone_after_too_much_output;
mod a_git_redirect_is_gone_when_polder_is_killed;
mod a_git_redirect_is_gone_when_the_shim_is_ended;
mod a_hidden_directory_has_no_other_readable_name;
mod a_hidden_file_cannot_be_opened_by_any_call;
mod a_hidden_file_has_no_other_readable_name;
mod a_hidden_tree_tells_nothing_of_itself;
mod a_killed_polder_takes_the_sandbox_along;
mod a_layer_filler_is_bounded;
mod a_memory_hog_is_bounded;
mod a_memory_race_does_not_fool_the_observer;
mod a_name_protected_everywhere_is_gone_after_the_run;
mod a_nested_landlock_domain_is_not_void;
mod a_nested_repository_does_not_run_on_the_host;
mod a_nested_repository_in_a_layer_does_not_run_on_the_host;
mod a_nested_tracer_is_not_passed_by;
mod a_new_repository_keeps_nothing_that_git_obeys;
mod a_pipe_as_a_submodule_config_does_not_wedge_the_next_run;
mod a_pipe_as_configuration_does_not_wedge_the_next_run;
mod a_pipe_or_a_vast_file_does_not_wedge_an_apply;
mod a_planted_link_does_not_widen_a_bind;
mod a_protected_directory_cannot_be_exchanged;
mod a_protected_directory_has_no_other_writable_name;
mod a_protected_file_cannot_be_changed_or_replaced;
mod a_protected_file_gets_no_second_name;
mod a_protected_name_is_set_aside_at_once;
mod a_read_only_file_cannot_be_linked_into_the_workspace;
mod a_read_only_tree_resists_every_change;
mod a_read_only_workspace_cannot_be_changed;
mod a_renamed_parent_does_not_free_a_protected_path;
mod a_renamed_parent_does_not_reveal_a_hidden_path;
mod a_replaced_workspace_is_not_shown;
mod a_replaced_workspace_is_not_shown_in_a_layer;
mod a_repository_config_does_not_run_on_the_host;
mod a_repository_config_does_not_run_when_it_is_copied;
mod a_sandbox_tool_gains_nothing_inside;
mod a_setuid_program_gains_nothing;
mod a_signal_does_not_leave_the_sandbox;
mod a_stopped_command_does_not_outlive_its_time;
mod a_symlink_in_the_workspace_does_not_lead_out;
mod a_symlink_swap_does_not_write_a_hook;
mod a_workspace_does_not_become_a_bare_repository;
mod a_workspace_that_is_the_machine_is_refused;
mod a_worktree_does_not_show_another_repository;
mod a_written_configuration_does_not_open_the_network;
mod a_written_configuration_does_not_weaken_the_next_run;
mod abstract_sockets_are_closed_with_the_hosts_network;
mod abstract_sockets_of_the_host_are_not_there;
mod address_randomisation_cannot_be_switched_off;
mod an_edit_of_the_host_is_not_overwritten;
mod an_output_flood_is_bounded;
mod an_overlapping_bind_does_not_free_a_protected_path;
mod beat;
mod bpf_is_not_there;
mod core_files_are_not_written;
mod device_nodes_cannot_be_made;
mod devices_of_the_host_are_not_there;
mod every_mount_is_restricted;
mod families;
mod fanotify_is_not_there;
mod files_beside_the_workspace_cannot_be_read;
mod files_cannot_be_named_by_handle;
mod files_cannot_be_opened_by_handle;
mod files_made_in_a_layer_do_not_reach_the_tree;
mod groups_of_the_caller_are_given_up;
mod home_secrets_cannot_be_read;
mod host_apply;
mod host_directories_cannot_be_watched;
mod host_git;
mod host_polder;
mod host_processes_are_not_in_view;
mod host_processes_cannot_be_signalled;
mod host_processes_cannot_be_traced;
mod inherited_descriptors_are_closed;
mod inotify_instances_are_bounded;
mod io_uring_is_not_there;
mod kernel_memory_is_not_readable;
mod kernel_switches_cannot_be_written;
mod keyrings_are_not_there;
mod launcher;
mod layers_of_a_workspace_are_out_of_view;
mod leases_and_notices_cannot_be_set;
mod masks_cannot_be_lifted;
mod memory_is_bounded_without_a_cgroup;
mod message_queues_of_the_host_are_not_there;
mod mounts_of_the_host_do_not_arrive;
mod names_in_private_directories_are_bounded;
mod no_capability_is_effective;
mod no_capability_is_left;
mod no_descriptor_above_two_is_open;
mod no_environment_inside_holds_a_secret;
mod no_file_comes_out_with_a_setid_bit;
mod no_file_comes_out_with_capabilities;
mod no_foreign_listener_can_be_installed;
mod no_interface_leads_out;
mod no_module_is_loaded_by_a_request;
mod no_namespace_can_be_entered;
mod no_namespace_can_be_made;
mod no_namespace_is_the_hosts;
mod nothing_can_be_mounted;
mod nothing_can_be_typed_into_a_terminal;
mod one_run_does_not_see_the_scratch_of_another;
mod open_files_are_bounded;
mod other_netlinks_cannot_be_reached;
mod packets_cannot_be_sniffed;
mod passed_directory;
mod perf_events_are_not_there;
mod proc_links_do_not_lead_out;
mod processes_cannot_be_compared;
mod rare_families_cannot_be_reached;
mod rare_protocols_cannot_be_reached;
mod rights_and_times_of_read_only_files_cannot_be_changed;
mod roots_command_is_not_root_outside;
mod shared_memory_of_the_host_is_not_there;
mod shared_scratch_directories_are_private;
mod sockets;
mod sockets_are_closed_with_the_hosts_network;
mod sockets_of_the_host_are_not_there;
mod stdin_cannot_be_reopened_for_writing;
mod stdin_file_keeps_its_attributes;
mod system_directories_cannot_be_written;
mod the_32_bit_entrance_is_closed;
mod the_callers_terminal_cannot_be_opened;
mod the_core_limit_cannot_be_moved;
pub(crate) mod the_filter_refuses_each_call_itself;
mod the_filter_refuses_each_call_unwatched;
mod the_home_directory_cannot_be_written;
mod the_home_directory_is_not_listed;
mod the_host_name_cannot_be_changed;
mod the_hosts_loopback_is_not_there;
mod the_hypervisor_cannot_be_reached;
mod the_kernels_ciphers_cannot_be_reached;
mod the_kernels_log_is_not_there;
mod the_machines_ports_are_not_there;
mod the_old_root_is_not_above_the_new_one;
mod the_outcome_cannot_be_forged;
mod the_private_root_cannot_be_changed;
mod the_root_cannot_be_changed;
mod the_shim_cannot_be_killed;
mod the_shim_cannot_be_reniced;
mod the_shim_cannot_be_starved;
mod the_shim_cannot_be_traced;
mod the_system_tree_is_not_in_view;
mod the_x32_numbers_are_closed;
mod two_applies_do_not_mix;
mod unlisted_calls_do_not_exist;
mod userfaultfd_is_not_there;
mod variables_of_the_caller_do_not_enter;
mod what_the_host_would_execute_is_not_applied;
mod zombies_are_bounded;

/// In the order of their numbers.
pub(crate) const ALL: &[Attack] = &[
    home_secrets_cannot_be_read::ATTACK,
    files_beside_the_workspace_cannot_be_read::ATTACK,
    proc_links_do_not_lead_out::ATTACK,
    inherited_descriptors_are_closed::ATTACK,
    no_descriptor_above_two_is_open::ATTACK,
    stdin_cannot_be_reopened_for_writing::ATTACK,
    a_directory_as_stdin_does_not_open_the_host::ATTACK,
    stdin_file_keeps_its_attributes::ATTACK,
    the_outcome_cannot_be_forged::ATTACK,
    a_read_only_file_cannot_be_linked_into_the_workspace::ATTACK,
    a_protected_file_gets_no_second_name::ATTACK,
    a_symlink_in_the_workspace_does_not_lead_out::ATTACK,
    a_symlink_swap_does_not_write_a_hook::ATTACK,
    a_renamed_parent_does_not_free_a_protected_path::ATTACK,
    a_protected_file_cannot_be_changed_or_replaced::ATTACK,
    a_protected_directory_cannot_be_exchanged::ATTACK,
    a_protected_directory_has_no_other_writable_name::ATTACK,
    a_renamed_parent_does_not_reveal_a_hidden_path::ATTACK,
    a_hidden_file_cannot_be_opened_by_any_call::ATTACK,
    files_cannot_be_named_by_handle::ATTACK,
    files_cannot_be_opened_by_handle::ATTACK,
    the_home_directory_is_not_listed::ATTACK,
    host_directories_cannot_be_watched::ATTACK,
    fanotify_is_not_there::ATTACK,
    leases_and_notices_cannot_be_set::ATTACK,
    host_processes_are_not_in_view::ATTACK,
    kernel_memory_is_not_readable::ATTACK,
    kernel_switches_cannot_be_written::ATTACK,
    the_system_tree_is_not_in_view::ATTACK,
    the_home_directory_cannot_be_written::ATTACK,
    system_directories_cannot_be_written::ATTACK,
    shared_scratch_directories_are_private::ATTACK,
    a_read_only_workspace_cannot_be_changed::ATTACK,
    rights_and_times_of_read_only_files_cannot_be_changed::ATTACK,
    a_protected_name_is_set_aside_at_once::ATTACK,
    an_overlapping_bind_does_not_free_a_protected_path::ATTACK,
    a_name_protected_everywhere_is_gone_after_the_run::ATTACK,
    a_new_repository_keeps_nothing_that_git_obeys::ATTACK,
    files_made_in_a_layer_do_not_reach_the_tree::ATTACK,
    a_git_redirect_is_gone_after_the_run::ATTACK,
    a_git_redirect_is_gone_after_a_timeout::ATTACK,
    a_git_redirect_is_gone_after_too_much_output::ATTACK,
    a_git_redirect_is_gone_when_the_shim_is_ended::ATTACK,
    a_nested_repository_does_not_run_on_the_host::ATTACK,
    a_nested_repository_in_a_layer_does_not_run_on_the_host::ATTACK,
    a_workspace_does_not_become_a_bare_repository::ATTACK,
    a_repository_config_does_not_run_on_the_host::ATTACK,
    a_repository_config_does_not_run_when_it_is_copied::ATTACK,
    a_replaced_workspace_is_not_shown::ATTACK,
    a_workspace_that_is_the_machine_is_refused::ATTACK,
    a_worktree_does_not_show_another_repository::ATTACK,
    a_planted_link_does_not_widen_a_bind::ATTACK,
    a_replaced_workspace_is_not_shown_in_a_layer::ATTACK,
    a_pipe_as_a_submodule_config_does_not_wedge_the_next_run::ATTACK,
    a_pipe_or_a_vast_file_does_not_wedge_an_apply::ATTACK,
    a_pipe_as_configuration_does_not_wedge_the_next_run::ATTACK,
    device_nodes_cannot_be_made::ATTACK,
    no_file_comes_out_with_a_setid_bit::ATTACK,
    no_file_comes_out_with_capabilities::ATTACK,
    a_written_configuration_does_not_weaken_the_next_run::ATTACK,
    a_written_configuration_does_not_open_the_network::ATTACK,
    a_forged_mark_in_a_layer_reveals_nothing::ATTACK,
    an_edit_of_the_host_is_not_overwritten::ATTACK,
    what_the_host_would_execute_is_not_applied::ATTACK,
    host_processes_cannot_be_traced::ATTACK,
    the_shim_cannot_be_traced::ATTACK,
    the_callers_terminal_cannot_be_opened::ATTACK,
    the_shim_cannot_be_starved::ATTACK,
    the_shim_cannot_be_reniced::ATTACK,
    processes_cannot_be_compared::ATTACK,
    host_processes_cannot_be_signalled::ATTACK,
    the_shim_cannot_be_killed::ATTACK,
    no_namespace_can_be_made::ATTACK,
    no_namespace_can_be_entered::ATTACK,
    a_sandbox_tool_gains_nothing_inside::ATTACK,
    a_nested_landlock_domain_is_not_void::ATTACK,
    a_nested_tracer_is_not_passed_by::ATTACK,
    nothing_can_be_mounted::ATTACK,
    masks_cannot_be_lifted::ATTACK,
    the_root_cannot_be_changed::ATTACK,
    no_capability_is_left::ATTACK,
    a_setuid_program_gains_nothing::ATTACK,
    a_daemon_does_not_survive_a_timeout::ATTACK,
    a_daemon_does_not_survive_the_command::ATTACK,
    a_stopped_command_does_not_outlive_its_time::ATTACK,
    a_fork_bomb_is_bounded::ATTACK,
    zombies_are_bounded::ATTACK,
    a_memory_hog_is_bounded::ATTACK,
    a_disk_filler_is_bounded::ATTACK,
    a_failed_apply_leaves_no_half_of_it::ATTACK,
    names_in_private_directories_are_bounded::ATTACK,
    open_files_are_bounded::ATTACK,
    an_output_flood_is_bounded::ATTACK,
    the_32_bit_entrance_is_closed::ATTACK,
    the_x32_numbers_are_closed::ATTACK,
    two_applies_do_not_mix::ATTACK,
    io_uring_is_not_there::ATTACK,
    bpf_is_not_there::ATTACK,
    perf_events_are_not_there::ATTACK,
    userfaultfd_is_not_there::ATTACK,
    keyrings_are_not_there::ATTACK,
    address_randomisation_cannot_be_switched_off::ATTACK,
    the_kernels_log_is_not_there::ATTACK,
    the_machines_ports_are_not_there::ATTACK,
    no_foreign_listener_can_be_installed::ATTACK,
    the_core_limit_cannot_be_moved::ATTACK,
    the_host_name_cannot_be_changed::ATTACK,
    nothing_can_be_typed_into_a_terminal::ATTACK,
    the_hypervisor_cannot_be_reached::ATTACK,
    the_kernels_ciphers_cannot_be_reached::ATTACK,
    packets_cannot_be_sniffed::ATTACK,
    other_netlinks_cannot_be_reached::ATTACK,
    rare_families_cannot_be_reached::ATTACK,
    rare_protocols_cannot_be_reached::ATTACK,
    no_module_is_loaded_by_a_request::ATTACK,
    shared_memory_of_the_host_is_not_there::ATTACK,
    message_queues_of_the_host_are_not_there::ATTACK,
    abstract_sockets_of_the_host_are_not_there::ATTACK,
    abstract_sockets_are_closed_with_the_hosts_network::ATTACK,
    sockets_of_the_host_are_not_there::ATTACK,
    sockets_are_closed_with_the_hosts_network::ATTACK,
    the_hosts_loopback_is_not_there::ATTACK,
    no_interface_leads_out::ATTACK,
    variables_of_the_caller_do_not_enter::ATTACK,
    no_environment_inside_holds_a_secret::ATTACK,
    a_hidden_file_has_no_other_readable_name::ATTACK,
    a_hidden_directory_has_no_other_readable_name::ATTACK,
    a_killed_polder_takes_the_sandbox_along::ATTACK,
    a_layer_filler_is_bounded::ATTACK,
    one_run_does_not_see_the_scratch_of_another::ATTACK,
    devices_of_the_host_are_not_there::ATTACK,
    a_hidden_tree_tells_nothing_of_itself::ATTACK,
    a_memory_race_does_not_fool_the_observer::ATTACK,
    a_flood_of_denials_does_not_wear_the_observer_out::ATTACK,
    a_device_in_a_shown_tree_takes_no_request::ATTACK,
    a_device_node_in_a_shown_tree_is_dead::ATTACK,
    a_directory_passed_in_opens_nothing::ATTACK,
    a_directory_passed_in_shows_no_file::ATTACK,
    a_read_only_tree_resists_every_change::ATTACK,
    a_signal_does_not_leave_the_sandbox::ATTACK,
    core_files_are_not_written::ATTACK,
    every_mount_is_restricted::ATTACK,
    groups_of_the_caller_are_given_up::ATTACK,
    inotify_instances_are_bounded::ATTACK,
    mounts_of_the_host_do_not_arrive::ATTACK,
    no_capability_is_effective::ATTACK,
    no_namespace_is_the_hosts::ATTACK,
    roots_command_is_not_root_outside::ATTACK,
    the_filter_refuses_each_call_itself::ATTACK,
    the_filter_refuses_each_call_unwatched::ATTACK,
    the_old_root_is_not_above_the_new_one::ATTACK,
    the_private_root_cannot_be_changed::ATTACK,
    unlisted_calls_do_not_exist::ATTACK,
    memory_is_bounded_without_a_cgroup::ATTACK,
    a_git_redirect_is_gone_when_polder_is_killed::ATTACK,
    layers_of_a_workspace_are_out_of_view::ATTACK,
];
